/**
 * Returns the keys of the objects because of which the kernel refuses the rules of all, of which `suspects` have
 * changed since it took them. Each is tried together with all that are fine, so that the kernel takes these in the end.
 * For one among many it is asked about as often as they can be halved.
 */
export async function findRefused(
  keys: readonly string[],
  suspects: { has(key: string): boolean },
  isFineWith: (keys: ReadonlySet<string>) => Promise<boolean>,
): Promise<readonly string[]> {
  const fine = new Set<string>()
  const refused: string[] = []
  const search = async (some: readonly string[]): Promise<void> => {
    if (some.length === 0) return
    if (await isFineWith(new Set([...fine, ...some]))) for (const key of some) fine.add(key)
    else if (some.length === 1) refused.push(some[0]!)
    else {
      const middle = some.length >> 1
      await search(some.slice(0, middle))
      await search(some.slice(middle))
    }
  }
  // Otherwise the kernel refuses something else, or nothing any more.
  if (!(await isFineWith(fine)) || (await isFineWith(new Set(keys)))) return refused
  const isSuspected = new Set(keys.filter((key) => suspects.has(key)))
  await search(keys.filter((key) => !isSuspected.has(key)))
  await search([...isSuspected])
  return refused
}
