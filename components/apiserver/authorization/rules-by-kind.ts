import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { ruleAllowsKind, type Asked } from "./rules.ts"

/** Most cached pairs of verb and kind; the cache is emptied when it is full. */
const MOST_KEPT = 1000
/** The most that these caches take, in characters of two bytes. */
const MOST_CHARACTERS = 150_000
/** What an entry takes beside its texts and rules, in characters of two bytes; and what one place of a rule takes. */
const ENTRY = 64
const PLACE = 4
/** Names of resources and groups are DNS names. Longer names are no kind, and would only fill the cache. */
const LONGEST_NAME = 253

interface CachedRules<R> {
  readonly group: string
  readonly subresource: string | undefined
  readonly rules: readonly R[]
}

const NONE: readonly never[] = []

/** Rules of a user, with a cache of those that allow a verb on a kind: most users repeat a few requests. */
export class RulesByKind<R extends { readonly rule: PolicyRule }> {
  readonly all: readonly R[]
  /**
   * Cached rules by verb, then by resource. Every request looks rules up, so the lookup does not build a key of all
   * four parts.
   */
  readonly #byVerb = new Map<string, Map<string, CachedRules<R>[]>>()
  readonly #grown: ((characters: number) => void) | undefined
  #kept = 0
  /** What the cache takes, in characters of two bytes. */
  #taken = 0

  /** `grown` is called when the cache has grown by so many characters of two bytes. */
  constructor(rules: readonly R[], grown?: (characters: number) => void) {
    this.all = rules
    this.#grown = grown
  }

  /** What the rules and the cache take, in characters of two bytes. */
  get weight(): number {
    return PLACE * this.all.length + this.#taken
  }

  /**
   * Returns the rules that allow the request if the name fits. An empty result is not cached: anybody can ask for kinds
   * that do not exist.
   */
  for(asked: Asked): readonly R[] {
    const { verb, group, resource, subresource } = asked
    for (const known of this.#byVerb.get(verb)?.get(resource) ?? NONE)
      if (known.group === group && known.subresource === subresource) return known.rules
    const rules = this.all.filter(({ rule }) => ruleAllowsKind(rule, asked))
    const isKind = [verb, group, resource, subresource ?? ""].every(({ length }) => length <= LONGEST_NAME)
    if (rules.length > 0 && isKind) this.#keep(verb, resource, { group, subresource, rules })
    return rules
  }

  #keep(verb: string, resource: string, known: CachedRules<R>): void {
    const { group, subresource = "", rules } = known
    const texts = verb.length + resource.length + group.length + subresource.length
    const taken = ENTRY + texts + PLACE * rules.length
    if (this.#kept >= MOST_KEPT || this.#taken + taken > MOST_CHARACTERS) {
      this.#byVerb.clear()
      this.#kept = this.#taken = 0
    }
    this.#kept++
    this.#taken += taken
    this.#grown?.(taken)
    let byResource = this.#byVerb.get(verb)
    if (byResource === undefined) this.#byVerb.set(verb, (byResource = new Map<string, CachedRules<R>[]>()))
    const list = byResource.get(resource)
    if (list === undefined) byResource.set(resource, [known])
    else list.push(known)
  }
}
