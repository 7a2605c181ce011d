/**
 * Appends the items of other lists. `into.push(...list)` puts each item on the stack as an argument, and throws a
 * RangeError where that has no room: for some hundred thousand items, which fit into a request, and for fewer where
 * calls are nested. So who can make a list long could make a request fail, or end a component.
 */
export function pushAll<T>(into: T[], ...lists: readonly Iterable<T>[]): void {
  for (const list of lists) for (const item of list) into.push(item)
}
