import type { HTTPIngressPath, Ingress, IngressBackend } from "../../../pkg/api/networking/v1/ingress.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import type { Problem } from "./problem.ts"
import { policyOf } from "./policy.ts"
import type { PathMatch } from "./table.ts"
import type { BackendRef, Refusal, Target } from "./target.ts"

/** What follows from one Ingress alone, whichever others there are. */
export interface ParsedIngress {
  readonly ingress: Ingress
  readonly key: Key
  readonly namespace: string
  readonly hasRules: boolean
  /** The hosts of its rules, each once; every host (`""`) without rules. */
  readonly hosts: readonly string[]
  readonly rules: ReadonlyMap<string, readonly ParsedRule[]>
  /** The default backend. */
  readonly fallback: Target | undefined
  readonly problems: readonly Problem[]
}

interface ParsedRule {
  /** The place of the rule in the Ingress. */
  readonly number: number
  readonly paths: readonly {
    readonly path: PathMatch
    /** The path as it is written. */
    readonly text: string
    readonly target: Target
    /** Why the backend is no Service; undefined where it is one. */
    readonly resource: string | undefined
  }[]
}

export function parseIngress(ingress: Ingress): ParsedIngress {
  const { metadata, spec } = ingress
  const [key, namespace] = [keyFrom(metadata), metadata.namespace ?? ""]
  const { policy, problems: annotations } = policyOf(metadata.annotations)
  const problems: Problem[] = annotations.map((message) => ({ ingress, reason: "InvalidAnnotation", message }))
  const target = (backend: IngressBackend): Target => ({
    owner: { kind: "Ingress", key },
    backends: [{ weight: 1, to: serviceOf(backend, namespace) ?? NO_SERVICE }],
    policy,
  })
  const rules = new Map<string, ParsedRule[]>()
  for (const [number, { host = "", http }] of (spec.rules ?? []).entries()) {
    // A rule without paths sends all its requests to the default backend.
    const paths = (http?.paths ?? []).map((each, i) => ({
      path: pathMatch(each),
      text: String(each.path),
      target: target(each.backend),
      resource: resourceProblem(each.backend, `path ${i} of rule ${number}`),
    }))
    const known = rules.get(host)
    if (known === undefined) rules.set(host, [{ number, paths }])
    else known.push({ number, paths })
  }
  const { defaultBackend } = spec
  const problem = defaultBackend && resourceProblem(defaultBackend, "the default backend")
  if (problem !== undefined) problems.push({ ingress, reason: "ResourceBackend", message: problem })
  return {
    ingress,
    key,
    namespace,
    hasRules: rules.size > 0,
    hosts: rules.size > 0 ? [...rules.keys()] : [""],
    rules,
    fallback: defaultBackend && target(defaultBackend),
    problems,
  }
}

/** Returns what keeps the hosts of an Ingress that cannot be parsed from other namespaces: no request has a route. */
export function claimOf(ingress: Ingress): ParsedIngress {
  const { metadata, spec } = ingress
  const hosts = new Set((spec.rules ?? []).map(({ host = "" }) => host))
  return {
    ingress,
    key: keyFrom(metadata),
    namespace: metadata.namespace ?? "",
    hasRules: hosts.size > 0,
    hosts: hosts.size > 0 ? [...hosts] : [""],
    rules: new Map(),
    fallback: undefined,
    problems: [],
  }
}

const resourceProblem = ({ resource }: IngressBackend, where: string): string | undefined =>
  resource && `${where} names ${resource.kind} ${JSON.stringify(resource.name)}, but only Services can be backends here`

const NO_SERVICE: Refusal = { status: 503, reason: "the backend is no Service" }

/** ImplementationSpecific is compared as Prefix; without a path it covers all. */
const pathMatch = ({ path = "", pathType }: HTTPIngressPath): PathMatch => ({
  type: pathType === "Exact" ? "Exact" : "Prefix",
  value: path === "" ? "/" : path,
})

function serviceOf({ service }: IngressBackend, namespace: string): BackendRef | undefined {
  if (service === undefined) return undefined
  const { name = "", number = 0 } = service.port
  return { namespace, service: service.name, port: name === "" ? number : name }
}
