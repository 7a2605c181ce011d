/** Shorter lists, and the first look-ups in a longer one, are searched: that takes less time than an index. */
const SHORT = 32
const SEARCHES = 8

/** The index of a list, or how often it was searched so far. */
const indexes = new WeakMap<readonly Named[], ReadonlyMap<string, readonly Named[]> | number>()

interface Named {
  readonly name: string
}

/**
 * Returns the items with that name, in the order of the list. A long list, which must not change, is indexed when it is
 * searched often: a search for each of thousands of names would take time that grows with their square.
 */
export function allByName<T extends Named>(list: readonly T[], name: string): readonly T[] {
  const index = indexOf(list)
  return index === undefined ? list.filter((item) => item.name === name) : (index.get(name) ?? NONE)
}

/** Returns the first item with that name. See `allByName`. */
export function byName<T extends Named>(list: readonly T[] | undefined, name: string): T | undefined {
  if (list === undefined) return undefined
  const index = indexOf(list)
  return index === undefined ? list.find((item) => item.name === name) : index.get(name)?.[0]
}

/** Returns undefined for a list that is to be searched. */
function indexOf<T extends Named>(list: readonly T[]): ReadonlyMap<string, readonly T[]> | undefined {
  if (list.length < SHORT) return undefined
  const known = indexes.get(list) ?? 0
  // What was indexed for this list are its own items.
  if (typeof known !== "number") return known as ReadonlyMap<string, readonly T[]>
  const index = known < SEARCHES ? undefined : Map.groupBy(list, (item) => item.name)
  indexes.set(list, index ?? known + 1)
  return index
}

const NONE: readonly never[] = []
