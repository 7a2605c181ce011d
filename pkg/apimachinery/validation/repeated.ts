/** Returns the indexes of items whose identity occurred before. One walk, since lists from clients may be long. */
export function repeated<T>(items: readonly T[], identity: (item: T) => unknown): ReadonlySet<number> {
  if (items.length < 2) return NONE
  const seen = new Set<unknown>()
  const places = new Set<number>()
  for (const [i, item] of items.entries()) {
    const known = identity(item)
    if (seen.has(known)) places.add(i)
    seen.add(known)
  }
  return places
}
const NONE: ReadonlySet<number> = new Set()
