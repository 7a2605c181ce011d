/** Changes of a map: `key=value` sets, `key-` removes. */
export interface PairChanges {
  readonly set: Readonly<Record<string, string>>
  readonly remove: readonly string[]
}

const isSetting = (pair: string): boolean => pair.includes("=") && !pair.startsWith("=")
const isRemoval = (pair: string): boolean => pair.endsWith("-") && pair !== "-"

/**
 * Splits arguments into resources and, behind them, pairs. Source: kubectl pkg/cmd/util/helpers.go.
 * @throws Error for a resource behind a pair
 */
export function resourcesAndPairs(
  args: readonly string[],
  what: string,
): { readonly resources: readonly string[]; readonly pairs: readonly string[] } {
  const at = args.findIndex((arg) => isSetting(arg) || isRemoval(arg))
  const [resources, pairs] = at === -1 ? [args, []] : [args.slice(0, at), args.slice(at)]
  const misplaced = pairs.find((arg) => !isSetting(arg) && !isRemoval(arg))
  if (misplaced !== undefined) throw new Error(`all resources must be specified before ${what} changes: ${misplaced}`)
  return { resources, pairs }
}

/** Reads pairs. @throws Error that names those that are none */
export function parsePairs(
  pairs: readonly string[],
  what: string,
  { removal }: { readonly removal: boolean },
): PairChanges {
  const set: Record<string, string> = {}
  const remove: string[] = []
  const invalid: string[] = []
  for (const pair of pairs)
    if (isSetting(pair)) set[pair.slice(0, pair.indexOf("="))] = pair.slice(pair.indexOf("=") + 1)
    else if (removal && isRemoval(pair)) remove.push(pair.slice(0, -1))
    else invalid.push(pair)
  if (invalid.length > 0) throw new Error(`invalid ${what} format: ${invalid.join(", ")}`)
  return { set, remove }
}
