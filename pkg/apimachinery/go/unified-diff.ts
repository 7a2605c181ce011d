/**
 * Returns the difference of two values as Kubernetes' error messages show it: both as indented JSON, line by line, with
 * three lines around each change. Source: apimachinery pkg/util/diff, and difflib, which searches for the longest
 * common run of lines first.
 */
export function unifiedDiff(before: unknown, after: unknown): string {
  const [a, b] = [linesOf(before), linesOf(after)]
  return hunksOf(editsOf(a, b))
    .map((hunk) => {
      const [first, last] = [hunk[0]!, hunk.at(-1)!]
      const header = `@@ -${range(first.a, last.aEnd)} +${range(first.b, last.bEnd)} @@\n`
      return header + hunk.map((edit) => shown(edit, a, b)).join("")
    })
    .join("")
}

const CONTEXT = 3

const linesOf = (value: unknown): readonly string[] => JSON.stringify(value, null, 1).split("\n")

/** Lines [a, aEnd) of the one text that correspond to lines [b, bEnd) of the other. */
interface Edit {
  readonly isSame: boolean
  readonly a: number
  readonly aEnd: number
  readonly b: number
  readonly bEnd: number
}

function editsOf(a: readonly string[], b: readonly string[]): readonly Edit[] {
  if (a.length + b.length > MOST_LINES) return roughEdits(a, b)
  const places = placesOf(b)
  const edits: Edit[] = []
  const compare = (aFrom: number, aTo: number, bFrom: number, bTo: number): void => {
    const run = longestRun(aFrom, aTo, bFrom, bTo)
    if (run === undefined) {
      if (aFrom < aTo || bFrom < bTo) edits.push({ isSame: false, a: aFrom, aEnd: aTo, b: bFrom, bEnd: bTo })
      return
    }
    compare(aFrom, run.a, bFrom, run.b)
    const [aEnd, bEnd] = [run.a + run.length, run.b + run.length]
    edits.push({ isSame: true, a: run.a, aEnd, b: run.b, bEnd })
    compare(aEnd, aTo, bEnd, bTo)
  }

  /** Returns the longest common run of lines; the first of several. */
  function longestRun(aFrom: number, aTo: number, bFrom: number, bTo: number) {
    let best: { readonly a: number; readonly b: number; readonly length: number } | undefined
    let ending = new Map<number, number>()
    for (let i = aFrom; i < aTo; i++) {
      const next = new Map<number, number>()
      for (const j of places.get(a[i]!) ?? []) {
        if (j < bFrom || j >= bTo) continue
        const length = (ending.get(j - 1) ?? 0) + 1
        next.set(j, length)
        if (best === undefined || length > best.length) best = { a: i - length + 1, b: j - length + 1, length }
      }
      ending = next
    }
    return best
  }

  compare(0, a.length, 0, b.length)
  return edits
}

/**
 * Texts with more lines are not searched for common runs, since the time grows with the square of the number of lines.
 */
const MOST_LINES = 2000

/** Returns the common lines at the beginning and at the end; everything between counts as changed. */
function roughEdits(a: readonly string[], b: readonly string[]): readonly Edit[] {
  const shorter = Math.min(a.length, b.length)
  let head = 0
  while (head < shorter && a[head] === b[head]) head++
  let tail = 0
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const [aEnd, bEnd] = [a.length - tail, b.length - tail]
  return [
    { isSame: true, a: 0, aEnd: head, b: 0, bEnd: head },
    { isSame: false, a: head, aEnd, b: head, bEnd },
    { isSame: true, a: aEnd, aEnd: a.length, b: bEnd, bEnd: b.length },
  ].filter((edit) => edit.a < edit.aEnd || edit.b < edit.bEnd)
}

/**
 * Returns the indexes of each line. In a long text, lines that occur often are left out, as difflib leaves out lines
 * that make up more than a hundredth of 200 or more lines.
 */
function placesOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [i, line] of lines.entries()) {
    const known = places.get(line)
    if (known === undefined) places.set(line, [i])
    else known.push(i)
  }
  if (lines.length >= 200)
    for (const [line, found] of places) if (found.length > Math.floor(lines.length / 100) + 1) places.delete(line)
  return places
}

/** Groups changes that are near one another, with a few common lines around them. */
function hunksOf(edits: readonly Edit[]): readonly (readonly Edit[])[] {
  const hunks: Edit[][] = []
  let hunk: Edit[] = []
  for (const [i, edit] of edits.entries()) {
    if (!edit.isSame) {
      hunk.push(edit)
      continue
    }
    const [isFirst, isLast] = [i === 0, i === edits.length - 1]
    const length = edit.aEnd - edit.a
    const head = Math.min(length, CONTEXT)
    if (!isFirst && !isLast && length <= 2 * CONTEXT) {
      hunk.push(edit)
      continue
    }
    if (!isFirst) {
      hunk.push({ ...edit, aEnd: edit.a + head, bEnd: edit.b + head })
      hunks.push(hunk)
      hunk = []
    }
    if (!isLast) hunk.push({ ...edit, a: edit.aEnd - head, b: edit.bEnd - head })
  }
  if (hunk.some(({ isSame }) => !isSame)) hunks.push(hunk)
  return hunks
}

const shown = ({ isSame, a, aEnd, b, bEnd }: Edit, before: readonly string[], after: readonly string[]): string =>
  isSame
    ? before
        .slice(a, aEnd)
        .map((line) => ` ${line}\n`)
        .join("")
    : [...before.slice(a, aEnd).map((line) => `-${line}\n`), ...after.slice(b, bEnd).map((line) => `+${line}\n`)].join(
        "",
      )

function range(from: number, to: number): string {
  const length = to - from
  return length === 1 ? `${from + 1}` : `${length === 0 ? from : from + 1},${length}`
}
