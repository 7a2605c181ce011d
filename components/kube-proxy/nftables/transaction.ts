import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { finished } from "../../../pkg/apimachinery/finished.ts"
import { ADDRESS_TYPE } from "../../../pkg/netfilter/nft.ts"
import type { Delta, Desired } from "./desired.ts"
import { AFFINITY, tableOf } from "./names.ts"
import type { Skeleton } from "./skeleton.ts"

/** The chains and sets that exist in the table, by name. */
export interface Existing {
  readonly chains: ReadonlySet<string>
  readonly affinities: ReadonlySet<string>
}

type Entry = readonly [container: string, key: string, value: string]

/** The most entries in one command: `nft` allows any number, but its error messages quote the whole command. */
const BATCH = 500

/** Returns the `nft` commands that turn the table as it was last written into the wanted one. */
export const partialTransaction = (family: Family, desired: Desired, delta: Delta): string =>
  finished(makingPartial(family, desired, delta))

/** Does the work of `partialTransaction` in steps. */
export function* makingPartial(
  family: Family,
  desired: Desired,
  { elements, chains, affinities }: Delta,
): Generator<void, string> {
  const table = tableOf(family)
  const gone = [...chains.keys()].filter((name) => desired.chain(name) === undefined)
  const wanted = [...chains.keys()].filter((name) => desired.chain(name) !== undefined)
  return lines([
    ...newSets(family, desired, affinities.keys()),
    ...wanted.flatMap((name) => emptyChain(table, name)),
    ...wanted.flatMap((name) => rules(table, name, desired.chain(name)!)),
    ...(yield* elementCommands(table, "delete", deleted(elements))),
    ...(yield* elementCommands(table, "add", added(elements, desired))),
    // A chain is only emptied here, and removed later: see `staleChains` in writer.ts.
    ...gone.map((name) => `flush chain ${table} ${name}`),
    ...[...affinities.keys()]
      .filter((name) => desired.affinity(name) === undefined)
      .map((name) => `delete set ${table} ${name}`),
  ])
}

/**
 * Returns the commands that write the whole table, whatever it contains; the sets of session affinity are kept. Without
 * `existing` the table is created.
 */
export const fullTransaction = (...input: Parameters<typeof makingFull>): string => finished(makingFull(...input))

/** Does the work of `fullTransaction` in steps. */
export function* makingFull(
  family: Family,
  skeleton: Skeleton,
  desired: Desired,
  existing: Existing | undefined,
): Generator<void, string> {
  const table = tableOf(family)
  const elements: string[] = []
  for (const name of [...skeleton.sets.keys(), ...skeleton.maps.keys()]) {
    for (const command of yield* elementCommands(table, "add", all(desired, name))) elements.push(command)
  }
  const fixed = [...skeleton.chains.keys()]
  const own = [...desired.chains.keys()]
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
    ...elements,
    ...[...(existing?.affinities ?? [])]
      .filter((name) => desired.affinity(name) === undefined)
      .map((name) => `delete set ${table} ${name}`),
  ])
}

function* deleted(elements: Delta["elements"]): Generator<Entry> {
  for (const { container, key, before } of elements) if (before !== undefined) yield [container, key, ""]
}

function* added(elements: Delta["elements"], desired: Desired): Generator<Entry> {
  for (const { container, key } of elements) {
    const value = desired.value(container, key)
    if (value !== undefined) yield [container, key, value]
  }
}

function* all(desired: Desired, container: string): Generator<Entry> {
  for (const [key, value] of desired.entries(container)) yield [container, key, value]
}

/** Returns the commands that remove the chains of the table that are no longer wanted. */
export const staleChainsOf = (
  skeleton: Skeleton,
  desired: Desired,
  existing: Existing | undefined,
): readonly string[] =>
  [...(existing?.chains ?? [])].filter((name) => !skeleton.chains.has(name) && desired.chain(name) === undefined)

export const deletionOf = (family: Family, chains: Iterable<string>): string =>
  lines([...chains].map((name) => `delete chain ${tableOf(family)} ${name}`))

/** Parses chains and sets of clients in the output of `nft list table`. */
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

/**
 * `dynamic` is given explicitly: some kernels add that flag by themselves, and then the existing set differs from the
 * declaration.
 */
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

/**
 * Returns commands for entries given as container, key and value (undefined to delete), with as few commands as
 * possible.
 */
function* elementCommands(
  table: string,
  verb: "add" | "delete",
  entries: Iterable<Entry>,
): Generator<void, readonly string[]> {
  const byContainer = new Map<string, string[]>()
  for (const [container, key, value] of entries) {
    const text = value === "" ? key : `${key} ${value}`
    const known = byContainer.get(container)
    if (known === undefined) byContainer.set(container, [text])
    else known.push(text)
    yield
  }
  const commands: string[] = []
  for (const [container, texts] of byContainer)
    for (let i = 0; i < texts.length; i += BATCH) {
      commands.push(`${verb} element ${table} ${container} { ${texts.slice(i, i + BATCH).join(", ")} }`)
      yield
    }
  return commands
}
