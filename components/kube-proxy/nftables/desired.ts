import { finished } from "../../../pkg/apimachinery/finished.ts"
import type { Element, Parts } from "./parts.ts"

/** The value that an owner wants for a key. */
interface Claim {
  readonly owner: string
  readonly value: string
}

/** The claim that counts for a key, and the others in the order of their owners. Most keys have no others. */
interface Entry extends Claim {
  readonly others: readonly Claim[]
}

/** A value and the number of its users. */
interface Shared<T> {
  readonly value: T
  count: number
}

/**
 * What changed since the table was last written, with the previous values; undefined for entries that did not exist.
 */
export interface Delta {
  readonly elements: readonly {
    readonly container: string
    readonly key: string
    readonly before: string | undefined
  }[]
  readonly chains: ReadonlyMap<string, readonly string[] | undefined>
  readonly affinities: ReadonlyMap<string, number | undefined>
}

/**
 * The wanted content of the table, for all Services together. The cost of a change depends only on the Services that
 * change. When two Services want different values for one key, as with the same external IP and port, the one that is
 * first by namespace and name gets it; a cluster IP comes before every other address.
 */
export class Desired {
  readonly #elements = new Map<string, Map<string, Entry>>()
  readonly #chains = new Map<string, Shared<readonly string[]>>()
  readonly #affinities = new Map<string, Shared<number>>()
  #touched = new Map<string, Element & { readonly before: string | undefined }>()
  #touchedChains = new Map<string, readonly string[] | undefined>()
  #touchedAffinities = new Map<string, number | undefined>()

  /** `owner` is `<namespace>/<name>` of a Service. */
  change(owner: string, before: Parts, after: Parts): void {
    finished(this.changing(owner, before, after))
  }

  /** Does the work of `change` in steps. All must be taken before the content is read. */
  *changing(owner: string, before: Parts, after: Parts): Generator<void> {
    for (const element of before.elements) {
      this.#set(element, (entry) => withoutClaim(entry, rankOf(element, owner)))
      yield
    }
    for (const element of after.elements) {
      this.#set(element, (entry) => withClaim(entry, { owner: rankOf(element, owner), value: element.value }))
      yield
    }
    exchange(this.#chains, this.#touchedChains, before.chains, after.chains)
    exchange(this.#affinities, this.#touchedAffinities, before.affinities, after.affinities)
  }

  value(container: string, key: string): string | undefined {
    return this.#elements.get(container)?.get(key)?.value
  }

  chain(name: string): readonly string[] | undefined {
    return this.#chains.get(name)?.value
  }

  affinity(name: string): number | undefined {
    return this.#affinities.get(name)?.value
  }

  get chains(): ReadonlyMap<string, Shared<readonly string[]>> {
    return this.#chains
  }

  get affinities(): ReadonlyMap<string, Shared<number>> {
    return this.#affinities
  }

  /** Returns all entries of a set or map. */
  *entries(container: string): Generator<readonly [key: string, value: string]> {
    for (const [key, { value }] of this.#elements.get(container) ?? []) yield [key, value]
  }

  /** Returns what changed since the last call. */
  takeDelta(): Delta {
    return finished(this.takingDelta())
  }

  /** Does the work of `takeDelta` in steps. */
  *takingDelta(): Generator<void, Delta> {
    const elements: Delta["elements"][number][] = []
    for (const touched of this.#touched.values()) {
      if (this.value(touched.container, touched.key) !== touched.before) elements.push(touched)
      yield
    }
    const delta: Delta = {
      elements,
      chains: changedOf(this.#touchedChains, this.#chains),
      affinities: changedOf(this.#touchedAffinities, this.#affinities),
    }
    this.#touched = new Map()
    this.#touchedChains = new Map()
    this.#touchedAffinities = new Map()
    return delta
  }

  #set(element: Element, step: (entry: Entry | undefined) => Entry | undefined): void {
    const { container, key } = element
    let entries = this.#elements.get(container)
    if (entries === undefined) this.#elements.set(container, (entries = new Map<string, Entry>()))
    const had = entries.get(key)
    const id = `${container} ${key}`
    if (!this.#touched.has(id)) this.#touched.set(id, { container, key, value: "", before: had?.value })
    const has = step(had)
    if (has === undefined) entries.delete(key)
    else entries.set(key, has)
  }
}

/** Returns the owner as it stands in the order of claims: no name of a namespace begins with `~`. */
const rankOf = ({ yields }: Element, owner: string): string => (yields === true ? `~${owner}` : owner)

/** Adds a claim; of several claims of one owner the first counts. */
function withClaim(entry: Entry | undefined, claim: Claim): Entry {
  if (entry === undefined) return { ...claim, others: NONE }
  if (claim.owner === entry.owner) return entry
  const { owner, value, others } = entry
  if (claim.owner < owner) return { ...claim, others: [{ owner, value }, ...others] }
  const at = placeOf(others, claim.owner)
  return others[at]?.owner === claim.owner ? entry : { owner, value, others: others.toSpliced(at, 0, claim) }
}

function withoutClaim(entry: Entry | undefined, owner: string): Entry | undefined {
  if (entry === undefined) return undefined
  const { others } = entry
  if (entry.owner === owner) return others.length === 0 ? undefined : { ...others[0]!, others: others.slice(1) }
  const at = placeOf(others, owner)
  return others[at]?.owner === owner ? { ...entry, others: others.toSpliced(at, 1) } : entry
}

/** Returns the index of the claim of `owner`, or the one where it belongs. Any number of Services may claim one key. */
function placeOf(claims: readonly Claim[], owner: string): number {
  let [low, high] = [0, claims.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (claims[middle]!.owner < owner) low = middle + 1
    else high = middle
  }
  return low
}

const NONE: readonly Claim[] = []

function exchange<T>(
  all: Map<string, Shared<T>>,
  touched: Map<string, T | undefined>,
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
): void {
  for (const name of new Set([...before.keys(), ...after.keys()]))
    if (!touched.has(name)) touched.set(name, all.get(name)?.value)
  for (const name of before.keys()) {
    const shared = all.get(name)
    if (shared !== undefined && --shared.count === 0) all.delete(name)
  }
  for (const [name, value] of after) all.set(name, { value, count: (all.get(name)?.count ?? 0) + 1 })
}

const changedOf = <T>(
  touched: ReadonlyMap<string, T | undefined>,
  now: ReadonlyMap<string, Shared<T>>,
): ReadonlyMap<string, T | undefined> =>
  new Map([...touched].filter(([name, before]) => !isSame(now.get(name)?.value, before)))

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((each, i) => each === b[i]))
