import { keyFrom } from "../../../../pkg/client/informer.ts"
import { parseDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { GRPCRoute } from "../../../../pkg/gateway-api/grpcroute.ts"
import type { HTTPRoute } from "../../../../pkg/gateway-api/httproute.ts"
import { DEFAULT_POLICY, type Policy } from "../../routing/policy.ts"
import { isRefusal, type Backend, type BackendRef, type Refusal, type Target } from "../../routing/target.ts"
import { resolve, type Reference } from "./backend-refs.ts"
import type { BareCondition } from "../status/conditions.ts"
import { filtered, type Filter } from "./filters.ts"
import type { Objects } from "../watching/objects.ts"
import { patternOf, type Pattern } from "./pattern.ts"
import type { Rule, RuleMatch, ValueMatch } from "./rule-table.ts"

/** The compiled rules of a route, and the problems found in them. */
export interface RouteRules {
  readonly rules: readonly Rule[]
  /** A condition ResolvedRefs for each reference that cannot be used. */
  readonly unresolved: readonly BareCondition[]
  /**
   * Why rules are not supported: their requests are answered with 500, except where already the match cannot be read.
   */
  readonly unsupported: readonly string[]
  /** Whether no rule of the route can be served. */
  readonly isUnsupported: boolean
}

/** The fields that rules of HTTPRoutes and GRPCRoutes share. */
interface CommonRule {
  readonly filters?: readonly Filter[]
  readonly backendRefs?: readonly (Reference & { readonly weight: number; readonly filters?: readonly Filter[] })[]
}

const UNSUPPORTED: Refusal = { status: 500, reason: "the rule for this request is invalid" }
/** The path match of a rule that matches all requests. */
const ALL = { type: "Prefix", value: "/" } as const

export function httpRules(route: HTTPRoute, objects: Objects): RouteRules {
  const compiler = new Compiler("HTTPRoute", route, objects)
  for (const rule of route.spec.rules)
    for (const { path, headers, queryParams, method } of rule.matches) {
      const { type, value } = path
      compiler.add(rule, policyOf(rule.timeouts), type === "PathPrefix" ? value : undefined, () => ({
        path:
          type === "RegularExpression"
            ? { type: "Pattern", value: patternOf(value) }
            : { type: type === "Exact" ? "Exact" : "Prefix", value },
        headers: valueMatches(headers, true),
        query: valueMatches(queryParams, false),
        ...(method === undefined ? {} : { method }),
      }))
    }
  return compiler.rules
}

/** Compiles a GRPCRoute. Requests go to backends over HTTP/2: gRPC has no other transport. */
export function grpcRules(route: GRPCRoute, objects: Objects): RouteRules {
  const compiler = new Compiler("GRPCRoute", route, objects)
  for (const rule of route.spec.rules ?? [{}])
    for (const { method, headers } of rule.matches ?? [{}])
      compiler.add(rule, DEFAULT_POLICY, undefined, () => ({
        path: method === undefined ? ALL : methodPath(method),
        headers: valueMatches(headers, true),
        query: [],
      }))
  return compiler.rules
}

class Compiler {
  readonly #owner
  readonly #from
  readonly #objects: Objects
  readonly #rules: Rule[] = []
  readonly #unresolved: BareCondition[] = []
  readonly #unsupported = new Set<string>()
  #followed = 0
  /** The backends of a rule. All matches of a rule share them, so that weights and metrics count the rule once. */
  readonly #backends = new Map<CommonRule, readonly Backend[]>()

  constructor(kind: "HTTPRoute" | "GRPCRoute", { metadata }: HTTPRoute | GRPCRoute, objects: Objects) {
    this.#owner = { kind, key: keyFrom(metadata) }
    this.#from = { kind, namespace: metadata.namespace ?? "" }
    this.#objects = objects
  }

  /** Adds one match of a rule. `prefix` is the path of a PathPrefix match; undefined for other matches. */
  add(rule: CommonRule, policy: Policy | string, prefix: string | undefined, matchOf: () => RuleMatch): void {
    let match: RuleMatch
    try {
      match = matchOf()
    } catch (err) {
      this.#unsupported.add(`matches: ${(err as Error).message}`)
      return
    }
    const { changes, redirect, unsupported } = filtered(rule.filters ?? [], prefix, this.#mirrored)
    const why = typeof policy === "string" ? policy : unsupported
    if (why !== undefined || typeof policy === "string") {
      if (why !== undefined) this.#unsupported.add(why)
      this.#rules.push({ match, target: UNSUPPORTED })
      return
    }
    this.#followed++
    const target: Target = {
      owner: this.#owner,
      policy,
      ...changes,
      ...(redirect === undefined ? {} : { redirect }),
      backends: this.#backendsOf(rule, prefix),
    }
    this.#rules.push({ match, target })
  }

  get rules(): RouteRules {
    return {
      rules: this.#rules,
      unresolved: this.#unresolved,
      unsupported: [...this.#unsupported],
      isUnsupported: this.#followed === 0 && this.#unsupported.size > 0,
    }
  }

  #resolved(reference: Reference): BackendRef | Refusal {
    const { to, problem } = resolve(reference, this.#from, this.#objects, this.#from.kind === "GRPCRoute")
    if (problem !== undefined) this.#unresolved.push(problem)
    return to
  }

  /** A mirror that cannot be used is left out: requests are served without a copy. Source: HTTPRequestMirrorFilter. */
  readonly #mirrored = (reference: Reference): BackendRef | undefined => {
    const to = this.#resolved(reference)
    return isRefusal(to) ? undefined : to
  }

  #backendsOf(rule: CommonRule, prefix: string | undefined): readonly Backend[] {
    let backends = this.#backends.get(rule)
    if (backends !== undefined) return backends
    backends = (rule.backendRefs ?? []).map(({ weight, filters, ...reference }): Backend => {
      const to = this.#resolved(reference)
      const { changes, redirect, unsupported: why } = filtered(filters ?? [], prefix, this.#mirrored)
      const unsupported = redirect === undefined ? why : "backendRefs.filters: redirects are for whole rules only"
      if (unsupported === undefined) return { weight, to, ...changes }
      this.#unsupported.add(unsupported)
      return { weight, to: UNSUPPORTED }
    })
    // A backend that replaces the matched prefix is compiled for each match, since the prefix differs.
    if (backends.every(({ rewrite }) => rewrite?.path === undefined)) this.#backends.set(rule, backends)
    return backends
  }
}

type Timeouts = HTTPRoute["spec"]["rules"][number]["timeouts"]

/** Returns the timeouts of a rule, or an error text. A timeout of zero means no limit. */
function policyOf({ request, backendRequest }: NonNullable<Timeouts> = {}): Policy | string {
  const requestMs = request === undefined ? 0 : parseDuration(request)
  const backendMs = backendRequest === undefined ? requestMs : parseDuration(backendRequest)
  if (requestMs === undefined || backendMs === undefined) return "timeouts: not a duration"
  if (request === undefined && backendRequest === undefined) return DEFAULT_POLICY
  return { ...DEFAULT_POLICY, requestMs: requestMs || Infinity, responseMs: backendMs || Infinity }
}

type HeaderMatches = NonNullable<HTTPRoute["spec"]["rules"][number]["matches"][number]["headers"]>

/** Of matches with equal names the first one counts. @throws Error for an invalid regular expression */
function valueMatches(matches: HeaderMatches | undefined = [], ignoresCase: boolean): readonly ValueMatch[] {
  const byName = new Map<string, string | Pattern>()
  for (const { name, type, value } of matches) {
    const key = ignoresCase ? name.toLowerCase() : name
    if (!byName.has(key)) byName.set(key, type === "RegularExpression" ? patternOf(value) : value)
  }
  return [...byName].map(([name, value]) => ({ name, value }))
}

type MethodMatch = NonNullable<
  NonNullable<NonNullable<GRPCRoute["spec"]["rules"]>[number]["matches"]>[number]["method"]
>

/**
 * Compiles a method match to a path: gRPC sends `/<service>/<method>`. @throws Error for an invalid regular expression
 */
function methodPath({ type, service = "", method = "" }: MethodMatch): RuleMatch["path"] {
  if (type === "Exact" && service !== "" && method !== "") return { type: "Exact", value: `/${service}/${method}` }
  if (type === "Exact" && method === "") return { type: "Prefix", value: `/${service}` }
  const any = "[^/]+"
  const text = (part: string) => (part === "" ? any : `(?:${part})`)
  return { type: "Pattern", value: patternOf(`/${text(service)}/${text(method)}`) }
}
