import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"

/**
 * Compares the rules that a user wants to grant with those that the user holds. A rule allows each of its verbs on each
 * of its resources in each of its groups, so a rule of some kilobytes stands for millions of rights. They are never
 * multiplied: values that the same held rules mention count once. Source of the meaning: component-helpers
 * auth/rbac/validation Covers.
 */

/**
 * The most steps of one comparison, some 20 ns each. The roles that come with Kubernetes take a few hundred; only rules
 * that are made for it come here.
 */
const MOST_STEPS = 2_000_000
/** The most rights that are looked at to tell which of them a user lacks. */
const MOST_LOOKED_AT = 20_000
/** The most characters of the rules that a user is told about. */
const MOST_CHARACTERS = 65_536

/** Thrown when rules cannot be compared within the bound: the grant must be refused. */
export class TooManyRights extends Error {
  override readonly name = "TooManyRights"
}

/** Places of held rules, in ascending order. */
type Places = readonly number[]
const NOWHERE: Places = []

type Factor = "verb" | "group" | "resource" | "name" | "url"

/** What a user lacks of what the user wants to grant. */
export interface Lacking {
  /** Rules of one resource or path each, with the lacking verbs. */
  readonly rules: readonly PolicyRule[]
  /** Whether the user lacks more than `rules`. */
  readonly isCut: boolean
}

/** The rules that a user holds, indexed by what they mention. */
export class HeldRights {
  readonly #held: readonly PolicyRule[]
  /** Where held rules mention a value. */
  readonly #mentions: Readonly<Record<Factor, Map<string, number[]>>> = {
    verb: new Map(),
    group: new Map(),
    resource: new Map(),
    name: new Map(),
    url: new Map(),
  }
  /** Held rules without resource names, which cover every name. */
  readonly #unnamed: number[] = []
  /** Held rules with paths that end with `*`, by the text before it. */
  readonly #prefixes: (readonly [prefix: string, place: number])[] = []
  /** The texts of the held rules: a copy of a rule needs no comparison. */
  readonly #texts: ReadonlySet<string>
  /** Which held rules cover a value, and each such list once. */
  readonly #covering = new Map<string, Places>()
  readonly #lists = new Map<string, Places>()
  #steps = 0

  constructor(held: readonly PolicyRule[]) {
    this.#held = held
    this.#texts = new Set(held.map(textOf))
    const { verb, group, resource, name, url } = this.#mentions
    for (const [i, { verbs, apiGroups, resources, resourceNames, nonResourceURLs }] of held.entries()) {
      mention(verb, verbs, i)
      mention(group, apiGroups, i)
      mention(resource, resources, i)
      mention(name, resourceNames, i)
      mention(url, nonResourceURLs, i)
      if (resourceNames === undefined || resourceNames.length === 0) this.#unnamed.push(i)
      for (const path of nonResourceURLs ?? []) if (path.endsWith("*")) this.#prefixes.push([path.slice(0, -1), i])
    }
  }

  /** Whether the user holds all rights of a rule. @throws TooManyRights */
  cover(wanted: PolicyRule): boolean {
    if (this.#texts.has(textOf(wanted))) return true
    const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = wanted
    const ofVerbs = this.#listsOf(verbs, this.#ofVerb)
    if (!this.#coverAll([this.#listsOf(nonResourceURLs, this.#ofUrl), ofVerbs])) return false
    return this.#coverAll([
      this.#listsOf(resources, this.#ofResource),
      this.#listsOf(apiGroups, this.#ofGroup),
      resourceNames.length === 0 ? [this.#unnamed] : this.#listsOf(resourceNames, this.#ofName),
      ofVerbs,
    ])
  }

  /**
   * Returns what the user lacks of some rules; undefined when the user holds all of it. Rights that differ only in
   * their verb are one rule, as in upstream's message. @throws TooManyRights. Source: pkg/registry/rbac/validation
   * policy_compact.go.
   */
  lackedOf(wanted: readonly PolicyRule[]): Lacking | undefined {
    const lacking = wanted.filter((rule) => !this.cover(rule))
    if (lacking.length === 0) return undefined
    const shown = new Map<string, PolicyRule>()
    let [looked, characters] = [0, 0]
    for (const { verbs, ...rule } of lacking)
      for (const part of partsOf(rule)) {
        if (looked >= MOST_LOOKED_AT || characters >= MOST_CHARACTERS)
          return { rules: shown.size === 0 ? lacking : [...shown.values()], isCut: true }
        looked += verbs.length
        const held = this.#ofPart(part)
        const lacked = verbs.filter((verb) => this.#both(held, this.#ofVerb(verb)).length === 0)
        if (lacked.length === 0) continue
        // Each verb on a path is a rule of its own.
        for (const some of part.nonResourceURLs === undefined ? [lacked] : lacked.map((verb) => [verb])) {
          const id = JSON.stringify(part.nonResourceURLs === undefined ? part : [part, some])
          const before = part.nonResourceURLs === undefined ? (shown.get(id)?.verbs ?? []) : []
          shown.set(id, { ...part, verbs: [...before, ...some] })
          characters += id.length
        }
      }
    return { rules: [...shown.values()], isCut: false }
  }

  #ofPart({ apiGroups, resources, resourceNames, nonResourceURLs }: Part): Places {
    if (nonResourceURLs !== undefined) return this.#ofUrl(nonResourceURLs[0]!)
    const ofKind = this.#both(this.#ofResource(resources![0]!), this.#ofGroup(apiGroups![0]!))
    return this.#both(ofKind, resourceNames === undefined ? this.#unnamed : this.#ofName(resourceNames[0]!))
  }

  readonly #ofVerb = (verb: string): Places => this.#union("verb", verb, [verb, "*"])
  readonly #ofGroup = (group: string): Places => this.#union("group", group, [group, "*"])
  readonly #ofResource = (resource: string): Places => {
    const slash = resource.indexOf("/")
    return this.#union("resource", resource, [resource, "*", ...(slash > 0 ? [`*${resource.slice(slash)}`] : [])])
  }
  readonly #ofName = (name: string): Places => this.#union("name", name, [name], () => this.#unnamed)
  readonly #ofUrl = (url: string): Places =>
    this.#union("url", url, [url], () => {
      this.#count(this.#prefixes.length)
      return this.#prefixes.flatMap(([prefix, place]) => (url.startsWith(prefix) ? [place] : []))
    })

  /** Returns which held rules cover a value: those that mention one of the texts, and `more`. */
  #union(of: Factor, value: string, texts: readonly string[], more = () => NOWHERE): Places {
    const id = `${of} ${value}`
    const known = this.#covering.get(id)
    if (known !== undefined) return known
    const lists = [...new Set(texts)].map((text): Places => this.#mentions[of].get(text) ?? NOWHERE)
    const filled = [...lists, more()].filter(({ length }) => length > 0)
    const places = filled.length < 2 ? (filled[0] ?? NOWHERE) : ascending(new Set(filled.flat()))
    this.#count(filled.reduce((sum, { length }) => sum + length, 0))
    const key = places.join()
    const list = this.#lists.get(key) ?? places
    this.#lists.set(key, list)
    this.#covering.set(id, list)
    return list
  }

  #listsOf(values: readonly string[], of: (value: string) => Places): readonly Places[] {
    this.#count(values.length)
    return [...new Set(values.map(of))]
  }

  /** Whether each choice of one list from each factor has a held rule in common. */
  #coverAll(factors: readonly (readonly Places[])[]): boolean {
    if (factors.some(({ length }) => length === 0)) return true
    let common = factors[0]!
    for (const factor of factors.slice(1)) {
      const next = new Map<string, Places>()
      for (const a of common)
        for (const b of factor) {
          const both = this.#both(a, b)
          if (both.length === 0) return false
          next.set(both.join(), both)
        }
      common = [...next.values()]
    }
    return common.every(({ length }) => length > 0)
  }

  #both(a: Places, b: Places): Places {
    if (a === b) return a
    const [few, many] = a.length <= b.length ? [a, b] : [b, a]
    this.#count(few.length * Math.ceil(Math.log2(many.length + 1)))
    return few.filter((place) => includes(many, place))
  }

  #count(steps: number): void {
    this.#steps += steps + 1
    if (this.#steps > MOST_STEPS)
      throw new TooManyRights(`comparing them with the ${this.#held.length} rules that the user holds takes too long`)
  }
}

function mention(places: Map<string, number[]>, values: readonly string[] | undefined, place: number): void {
  for (const value of values ?? []) {
    const known = places.get(value)
    if (known === undefined) places.set(value, [place])
    else if (known.at(-1) !== place) known.push(place)
  }
}

const ascending = (places: Iterable<number>): Places => [...places].sort((a, b) => a - b)

/** Whether an ascending list has a place. */
function includes(places: Places, wanted: number): boolean {
  let [from, to] = [0, places.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (places[middle]! < wanted) from = middle + 1
    else to = middle
  }
  return places[from] === wanted
}

/** Returns a text that only equal rules have. */
const textOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs])

type Part = Omit<PolicyRule, "verbs">

/** Yields rules of one resource, resource name or path each. */
function* partsOf({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: Part): Iterable<Part> {
  for (const group of apiGroups)
    for (const resource of resources) {
      const part = { apiGroups: [group], resources: [resource] }
      if (resourceNames.length === 0) yield part
      else for (const name of resourceNames) yield { ...part, resourceNames: [name] }
    }
  for (const url of nonResourceURLs) yield { nonResourceURLs: [url] }
}
