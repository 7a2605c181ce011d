import type { Family } from "../../../pkg/apimachinery/cidr.ts"
import { ADDRESS_TYPE } from "../../../pkg/netfilter/nft.ts"
import type { Delta, Desired } from "./desired.ts"
import { AFFINITY, tableOf } from "./names.ts"
import type { Skeleton } from "./skeleton.ts"

/** What is in our table, by name. */
export interface Existing {
  readonly chains: ReadonlySet<string>
  readonly affinities: ReadonlySet<string>
}

/** Entries that one command names: `nft` takes any number, but its messages quote the whole command. */
const BATCH = 500

/** Commands for `nft` that bring the table from what it held at the last success to what is desired now. */
export function partialTransaction(family: Family, desired: Desired, { elements, chains, affinities }: Delta): string {
  const table = tableOf(family)
  const gone = [...chains.keys()].filter((name) => desired.chain(name) === undefined)
  const wanted = [...chains.keys()].filter((name) => desired.chain(name) !== undefined)
  return lines([
    ...newSets(family, desired, affinities.keys()),
    ...wanted.flatMap((name) => emptyChain(table, name)),
    ...wanted.flatMap((name) => rules(table, name, desired.chain(name)!)),
    ...elementCommands(
      table,
      "delete",
      elements.flatMap(({ container, key, before }) => (before === undefined ? [] : [[container, key, ""] as const])),
    ),
    ...elementCommands(
      table,
      "add",
      elements.flatMap(({ container, key }) => {
        const value = desired.value(container, key)
        return value === undefined ? [] : [[container, key, value] as const]
      }),
    ),
    // A chain goes later: see `staleChains` in writer.ts.
    ...gone.map((name) => `flush chain ${table} ${name}`),
    ...[...affinities.keys()]
      .filter((name) => desired.affinity(name) === undefined)
      .map((name) => `delete set ${table} ${name}`),
  ])
}

/**
 * Commands that write all of the table, whatever of ours it holds; which clients have gone where stays known. Without
 * `existing` the table is made anew.
 */
export function fullTransaction(
  family: Family,
  skeleton: Skeleton,
  desired: Desired,
  existing: Existing | undefined,
): string {
  const table = tableOf(family)
  const fixed = [...skeleton.chains.keys()]
  const own = [...desired.chains.keys()]
  const containers = [...skeleton.sets.keys(), ...skeleton.maps.keys()]
  return lines([
    `add table ${table}`,
    ...(existing === undefined ? [`delete table ${table}`, `add table ${table}`] : []),
    ...[...skeleton.hooks].map(([name, hook]) => `add chain ${table} ${name} { ${hook} ; }`),
    ...[...fixed, ...own].flatMap((name) => emptyChain(table, name)),
    ...staleChainsOf(skeleton, desired, existing).map((name) => `flush chain ${table} ${name}`),
    ...[...skeleton.sets].map(([name, type]) => `add set ${table} ${name} { ${type} ; }`),
    ...[...skeleton.maps].map(([name, type]) => `add map ${table} ${name} { ${type} ; }`),
    ...[...skeleton.sets.keys()].map((name) => `flush set ${table} ${name}`),
    ...[...skeleton.maps.keys()].map((name) => `flush map ${table} ${name}`),
    ...newSets(family, desired, desired.affinities.keys()),
    ...[...skeleton.chains].flatMap(([name, of]) => rules(table, name, of)),
    ...own.flatMap((name) => rules(table, name, desired.chain(name)!)),
    ...containers.flatMap((name) =>
      elementCommands(
        table,
        "add",
        [...desired.entries(name)].map(([key, value]) => [name, key, value] as const),
      ),
    ),
    ...[...(existing?.affinities ?? [])]
      .filter((name) => desired.affinity(name) === undefined)
      .map((name) => `delete set ${table} ${name}`),
  ])
}

/** Chains that the table has and nobody asks for any more. */
export const staleChainsOf = (
  skeleton: Skeleton,
  desired: Desired,
  existing: Existing | undefined,
): readonly string[] =>
  [...(existing?.chains ?? [])].filter((name) => !skeleton.chains.has(name) && desired.chain(name) === undefined)

export const deletionOf = (family: Family, chains: Iterable<string>): string =>
  lines([...chains].map((name) => `delete chain ${tableOf(family)} ${name}`))

/** Chains and sets of clients in what `nft list table` prints. */
export function existingIn(listed: string): Existing {
  const named = (kind: string) =>
    new Set([...listed.matchAll(new RegExp(`^\\t${kind} (\\S+) \\{`, "gm"))].map(([, name]) => name!))
  const sets = named("set")
  return { chains: named("chain"), affinities: new Set([...sets].filter((name) => name.startsWith(AFFINITY))) }
}

const lines = (commands: readonly string[]): string => commands.map((command) => `${command}\n`).join("")

const emptyChain = (table: string, name: string): readonly string[] => [
  `add chain ${table} ${name}`,
  `flush chain ${table} ${name}`,
]

const rules = (table: string, chain: string, of: readonly string[]): readonly string[] =>
  of.map((rule) => `add rule ${table} ${chain} ${rule}`)

/** `dynamic`, since some kernels add that flag by themselves and then find another set than they are asked for. */
const newSets = (family: Family, desired: Desired, names: Iterable<string>): readonly string[] =>
  [...names].flatMap((name) => {
    const seconds = desired.affinity(name)
    return seconds === undefined
      ? []
      : [
          `add set ${tableOf(family)} ${name} { type ${ADDRESS_TYPE[family]} ; flags dynamic, timeout ; ` +
            `timeout ${seconds}s ; }`,
        ]
  })

/** Entries as container, key and value (none to delete), with as few commands as can be. */
function elementCommands(
  table: string,
  verb: "add" | "delete",
  entries: readonly (readonly [container: string, key: string, value: string])[],
): readonly string[] {
  const commands: string[] = []
  const byContainer = Map.groupBy(entries, ([container]) => container)
  for (const [container, all] of byContainer)
    for (let i = 0; i < all.length; i += BATCH) {
      const texts = all.slice(i, i + BATCH).map(([, key, value]) => (value === "" ? key : `${key} ${value}`))
      commands.push(`${verb} element ${table} ${container} { ${texts.join(", ")} }`)
    }
  return commands
}
