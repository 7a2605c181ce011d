/** Returns the known word that differs least; undefined when all differ much. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly candidate: string; readonly distance: number } | undefined
  for (const candidate of known) {
    const distance = distanceOf(word.toLowerCase(), candidate.toLowerCase())
    if (distance < (best?.distance ?? Math.max(2, Math.ceil(word.length / 3)) + 1)) best = { candidate, distance }
  }
  return best?.candidate
}

/** Returns how many letters must be inserted, removed, replaced or swapped with a neighbour. */
function distanceOf(a: string, b: string): number {
  let [older, old]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const now = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      now[j] = Math.min(old![j]! + 1, now[j - 1]! + 1, old![j - 1]! + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        now[j] = Math.min(now[j]!, older![j - 2]! + 1)
    }
    ;[older, old] = [old!, now]
  }
  return old![b.length]!
}
