import type { IncomingRequest } from "../../messages/messages.ts"
import { withoutSlashes } from "../../routing/normal-path.ts"
import type { Refusal, Target } from "../../routing/target.ts"
import type { Pattern } from "./pattern.ts"

/** Matches a header or a query parameter. The `name` of a header is in lower case. */
export interface ValueMatch {
  readonly name: string
  readonly value: string | Pattern
}

/** What a request must have to match a rule. */
export interface RuleMatch {
  readonly path:
    | { readonly type: "Exact" | "Prefix"; readonly value: string }
    | { readonly type: "Pattern"; readonly value: Pattern }
  readonly method?: string
  readonly headers: readonly ValueMatch[]
  readonly query: readonly ValueMatch[]
}

/** One match of a rule of a route, with what happens to the requests that match. */
export interface Rule {
  readonly match: RuleMatch
  readonly target: Target | Refusal
}

/** The limit for one request of characters times pattern steps: about 20 ms of processor time. */
const MOST_WORK = 2_000_000
const TOO_MUCH: Refusal = { status: 500, reason: "the regular expressions of this host take too long" }

/**
 * The rules of one host at one listener, in the order of precedence: exact paths, regular expressions, then the longest
 * prefix. Among rules of one path, one with a method goes first, then the one with more headers, then the one with more
 * query parameters; of equal rules the first one wins. Source: apis/v1/httproute_types.go HTTPRouteRule.Matches.
 */
export class RuleTable {
  readonly #exact = new Map<string, Rule[]>()
  readonly #patterns: Rule[] = []
  /** By the prefix without trailing slashes: `/` becomes the empty text. */
  readonly #prefixes = new Map<string, Rule[]>()
  #longest = 0

  /** `rules` are in the order of precedence of their routes. */
  constructor(rules: readonly Rule[]) {
    for (const rule of rules.toSorted(byPrecedence)) {
      const { type, value } = rule.match.path
      if (type === "Pattern") this.#patterns.push(rule)
      else if (type === "Exact") addTo(this.#exact, value, rule)
      else {
        const prefix = withoutSlashes(value)
        this.#longest = Math.max(this.#longest, prefix.length)
        addTo(this.#prefixes, prefix, rule)
      }
    }
  }

  /** Returns what happens to a request; undefined when no rule matches. `path` is normalized by `normalPath`. */
  match(request: IncomingRequest, path: string): Target | Refusal | undefined {
    const asked = new Asked(request)
    for (const rules of this.#candidates(path)) {
      for (const { match, target } of rules) if (asked.is(match, path)) return target
      if (asked.work > MOST_WORK) return TOO_MUCH
    }
    return undefined
  }

  *#candidates(path: string): Iterable<readonly Rule[]> {
    const exact = this.#exact.get(path)
    if (exact !== undefined) yield exact
    yield this.#patterns
    for (let end = path.length; end > 0; end = path.lastIndexOf("/", Math.min(end - 1, this.#longest))) {
      const rules = end <= this.#longest ? this.#prefixes.get(path.slice(0, end)) : undefined
      if (rules !== undefined) yield rules
    }
    const all = this.#prefixes.get("")
    if (all !== undefined) yield all
  }
}

function addTo(map: Map<string, Rule[]>, key: string, rule: Rule): void {
  const rules = map.get(key)
  if (rules === undefined) map.set(key, [rule])
  else rules.push(rule)
}

function byPrecedence({ match: a }: Rule, { match: b }: Rule): number {
  const length = ({ path }: RuleMatch) => (path.type === "Pattern" ? path.value.size : path.value.length)
  return (
    length(b) - length(a) ||
    Number(b.method !== undefined) - Number(a.method !== undefined) ||
    b.headers.length - a.headers.length ||
    b.query.length - a.query.length
  )
}

/** A request during matching. Its query is parsed at most once, and the cost of its regular expressions is counted. */
class Asked {
  readonly #request: IncomingRequest
  #query: URLSearchParams | undefined
  /** The cost of the regular expressions so far, in characters times pattern steps. */
  work = 0

  constructor(request: IncomingRequest) {
    this.#request = request
  }

  is({ path: wanted, method, headers, query }: RuleMatch, path: string): boolean {
    if (method !== undefined && method !== this.#request.method) return false
    return (
      headers.every(({ name, value }) => this.#fits(value, this.#header(name))) &&
      query.every(({ name, value }) => this.#fits(value, this.#parameter(name))) &&
      (wanted.type !== "Pattern" || this.#fits(wanted.value, path))
    )
  }

  #fits(wanted: string | Pattern, text: string | undefined): boolean {
    if (text === undefined) return false
    if (typeof wanted === "string") return wanted === text
    this.work += wanted.size * (text.length + 1)
    return this.work <= MOST_WORK && wanted.matches(text)
  }

  /** Returns the values of all header lines with this name, joined by commas. */
  #header(name: string): string | undefined {
    let text: string | undefined
    for (const { key, value } of this.#request.fields)
      if (key === name) text = text === undefined ? value : `${text},${value}`
    return text
  }

  /** Returns the first value of a query parameter. */
  #parameter(name: string): string | undefined {
    const { target } = this.#request
    const at = target.indexOf("?")
    this.#query ??= new URLSearchParams(at < 0 ? "" : target.slice(at))
    return this.#query.get(name) ?? undefined
  }
}
