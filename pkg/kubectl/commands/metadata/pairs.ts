/** Arguments that name resources, and those that change labels, annotations or environment variables. */
export interface ResourcesAndPairs {
  readonly resources: readonly string[]
  readonly pairs: readonly string[]
}

const isPair = (text: string): boolean =>
  (text.includes("=") && !text.startsWith("=")) || (text.endsWith("-") && text !== "-")

/** Source: kubectl pkg/cmd/util/helpers.go (GetResourcesAndPairs). @throws Error for a resource after a change */
export function resourcesAndPairs(args: readonly string[], what: string): ResourcesAndPairs {
  const first = args.findIndex(isPair)
  if (first === -1) return { resources: args, pairs: [] }
  const pairs = args.slice(first)
  const wrong = pairs.find((arg) => !isPair(arg))
  if (wrong !== undefined) throw new Error(`all resources must be specified before ${what} changes: ${wrong}`)
  return { resources: args.slice(0, first), pairs }
}

/** What is set and what is removed. */
export interface Changes {
  readonly set: ReadonlyMap<string, string>
  readonly remove: readonly string[]
}

/** Reads `key=value` and `key-`. Source: kubectl pkg/cmd/util/helpers.go (ParsePairs). */
export function parsePairs(pairs: readonly string[], what: string): Changes {
  const set = new Map<string, string>()
  const remove: string[] = []
  const invalid: string[] = []
  for (const pair of pairs) {
    const at = pair.indexOf("=")
    if (at > 0) set.set(pair.slice(0, at), pair.slice(at + 1))
    else if (at === -1 && pair.endsWith("-") && pair !== "-") remove.push(pair.slice(0, -1))
    else invalid.push(pair)
  }
  if (invalid.length > 0) throw new Error(`invalid ${what} format: ${invalid.join(", ")}`)
  return { set, remove }
}
