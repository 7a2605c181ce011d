import { smallest } from "../lists/extremes.ts"

/** The longest name that anybody has mistyped: that of an object. Others may write longer ones, to keep us busy. */
const LONGEST = 253

/** Returns the name in `known` that `wrong` most likely means; undefined when none is similar. */
export function nearest(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length > LONGEST) return undefined
  // At most a third of the letters may differ, and of the same distance the first is meant.
  let limit = Math.max(1, Math.floor(wrong.length / 3))
  let best: string | undefined
  for (const name of known) {
    const found = distance(wrong, name, limit)
    // A name of which no letter is right is not similar, however short it is.
    if (found === undefined || found >= name.length) continue
    best = name
    limit = found - 1
    if (limit < 0) break
  }
  if (best !== undefined) return best
  const longer = wrong.length >= 3 ? known.filter((name) => name.startsWith(wrong)) : []
  return longer.length === 1 ? longer[0] : undefined
}

/** Returns `; did you mean "x"?`, or an empty text. */
export function didYouMean(wrong: string, known: readonly string[], prefix = ""): string {
  const name = nearest(wrong, known)
  return name === undefined ? "" : `; did you mean ${prefix}${name}?`
}

/**
 * Counts the letters that must be added, removed, replaced or swapped with their neighbour (optimal string alignment);
 * undefined for more than `limit`.
 */
function distance(a: string, b: string, limit: number): number | undefined {
  if (Math.abs(a.length - b.length) > limit) return undefined
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, rows[i - 2]![j - 2]! + 1)
      row.push(least)
    }
    rows.push(row)
    // No later row has less than the least of two in succession.
    if (smallest(row) > limit && smallest(rows[i - 1]!) > limit) return undefined
  }
  const found = rows[a.length]![b.length]!
  return found > limit ? undefined : found
}
