/** Returns the pairs as an object with sorted keys, as Go writes maps. */
export const sortedRecord = (pairs: Iterable<readonly [key: string, value: string]>): Record<string, string> =>
  Object.fromEntries([...pairs].sort(([a], [b]) => (a < b ? -1 : 1)))
