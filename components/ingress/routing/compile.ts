import type { HTTPIngressPath, Ingress, IngressBackend } from "../../../pkg/api/networking/v1/ingress.ts"
import type { ObjectMeta } from "../../../pkg/apimachinery/meta.ts"
import { exactKey } from "../../../pkg/cache/exact-key.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import { policyOf } from "./policy.ts"
import { RoutingTable, type PathMatch, type Route } from "./table.ts"
import type { BackendRef, Refusal, Target } from "./target.ts"

/** A problem with an Ingress that its owner should know, shown as an Event. */
export interface Problem {
  readonly ingress: Ingress
  readonly reason: "HostConflict" | "PathConflict" | "ResourceBackend" | "InvalidAnnotation" | "InvalidTLS"
  readonly message: string
}

/** The namespace of the oldest Ingress that names a host, and when that was created. */
export interface HostOwner {
  readonly namespace: string
  readonly since: string
  readonly ingress: Ingress
}

export interface Compiled {
  readonly table: RoutingTable<Target>
  readonly problems: readonly Problem[]
  /** To which namespace each host of a rule belongs, and since when; `""` is every other host. */
  readonly owners: ReadonlyMap<string, HostOwner>
}

/**
 * Returns the routes of all Ingresses. A host belongs to the namespace of the oldest Ingress that names it, so that no
 * namespace can take requests of another; rules of other namespaces for it are ignored. An Ingress without rules
 * applies to every host. The default backend of an Ingress gets requests that match none of the paths of its hosts, and
 * requests for hosts without a rule unless another Ingress applies to these.
 */
export function compile(ingresses: readonly Ingress[]): Compiled {
  const problems: Problem[] = []
  const oldestFirst = [...ingresses].sort(byAge)
  const owners = hostOwners(oldestFirst)
  const routes: Route<Target>[] = []
  const defaults: Route<Target>[] = []
  const taken = new Map<string, Key>()

  for (const ingress of oldestFirst) {
    const { metadata, spec } = ingress
    const namespace = metadata.namespace ?? ""
    const { policy, problems: annotations } = policyOf(metadata.annotations)
    const tell = (reason: Problem["reason"], message: string) => problems.push({ ingress, reason, message })
    for (const message of annotations) tell("InvalidAnnotation", message)
    const target = (backend: IngressBackend, where: string): Target => {
      const { resource } = backend
      if (resource !== undefined)
        tell(
          "ResourceBackend",
          `${where} names ${resource.kind} ${JSON.stringify(resource.name)}, but only Services can be backends here`,
        )
      return {
        owner: { kind: "Ingress", key: keyFrom(metadata) },
        backends: [{ weight: 1, to: serviceOf(backend, namespace) ?? NO_SERVICE }],
        policy,
      }
    }

    const hosts = new Set<string>()
    for (const [i, { host = "", http }] of (spec.rules ?? []).entries()) {
      const owner = owners.get(host)?.namespace
      if (owner !== namespace) {
        tell(
          "HostConflict",
          `${hostText(host)} belongs to an older Ingress in namespace ${owner}: rule ${i} is left out`,
        )
        continue
      }
      hosts.add(host)
      // A rule without paths sends all its requests to the default backend.
      for (const [j, each] of (http?.paths ?? []).entries()) {
        const path = pathMatch(each)
        const key = exactKey([host, path.type, path.value])
        const before = taken.get(key)
        if (before === undefined) taken.set(key, keyFrom(metadata))
        else if (before !== keyFrom(metadata))
          tell("PathConflict", `${hostText(host)} has the path ${each.path} already from the older Ingress ${before}`)
        routes.push({ host, path, target: target(each.backend, `path ${j} of rule ${i}`) })
      }
    }

    const { defaultBackend } = spec
    if (defaultBackend === undefined) continue
    const fallback = target(defaultBackend, "the default backend")
    for (const host of hosts) routes.push({ host, target: fallback })
    if ((spec.rules ?? []).length > 0) defaults.push({ host: "", target: fallback })
    else if (owners.get("")?.namespace === namespace) routes.push({ host: "", target: fallback })
    else
      tell(
        "HostConflict",
        `${hostText("")} belongs to an older Ingress in namespace ${owners.get("")?.namespace}: the default backend is left out`,
      )
  }
  problems.push(...lostHosts(owners))
  return { table: new RoutingTable([...routes, ...freeDefaults(defaults, owners)]), problems, owners }
}

/** The most hosts that the text of one problem names. */
const MOST_NAMED = 3

/**
 * An exact host comes before a wildcard, whose Ingress may be older and of another namespace: its owner is told which
 * requests the Ingress does not get.
 */
function lostHosts(owners: ReadonlyMap<string, HostOwner>): readonly Problem[] {
  const lost = new Map<string, string[]>()
  for (const [host, { namespace, since }] of owners) {
    const wildcard = host.startsWith("*") || host === "" ? undefined : `*${host.slice(host.indexOf("."))}`
    const owner = wildcard === undefined ? undefined : owners.get(wildcard)
    if (owner === undefined || owner.namespace === namespace || owner.since > since) continue
    const hosts = lost.get(wildcard!) ?? []
    hosts.push(`${JSON.stringify(host)} (namespace ${namespace})`)
    lost.set(wildcard!, hosts)
  }
  return [...lost].map(([wildcard, hosts]) => {
    const more = hosts.length > MOST_NAMED ? ` and ${hosts.length - MOST_NAMED} more` : ""
    return {
      ingress: owners.get(wildcard)!.ingress,
      reason: "HostConflict",
      message:
        `${hostText(wildcard)} does not get the requests for ${hosts.slice(0, MOST_NAMED).join(", ")}${more}: newer ` +
        "Ingresses name these hosts exactly",
    }
  })
}

/** The default backends of Ingresses with rules, for hosts that nobody names: where nobody else is for them. */
function freeDefaults(defaults: readonly Route<Target>[], owners: Compiled["owners"]) {
  const [oldest] = defaults
  const owner = owners.get("")?.namespace ?? (oldest === undefined ? undefined : namespaceOf(oldest.target))
  return defaults.filter(({ target }) => namespaceOf(target) === owner)
}

const namespaceOf = ({ owner: { key } }: Target): string => key.slice(0, key.indexOf("/"))

function hostOwners(oldestFirst: readonly Ingress[]): Compiled["owners"] {
  const owners = new Map<string, HostOwner>()
  for (const ingress of oldestFirst) {
    const { metadata, spec } = ingress
    const rules = spec.rules ?? []
    const hosts = rules.length === 0 ? [""] : rules.map(({ host = "" }) => host)
    for (const host of hosts)
      if (!owners.has(host))
        owners.set(host, { namespace: metadata.namespace ?? "", since: metadata.creationTimestamp ?? "", ingress })
  }
  return owners
}

/** The oldest first; of the same age by name. */
export function byAge({ metadata: a }: Aged, { metadata: b }: Aged): number {
  const [first, second] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""]
  if (first !== second) return first < second ? -1 : 1
  return keyFrom(a) < keyFrom(b) ? -1 : 1
}

interface Aged {
  readonly metadata: ObjectMeta
}

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

const hostText = (host: string): string => (host === "" ? "every host without a rule" : `host ${JSON.stringify(host)}`)
