import type { HTTPIngressPath, Ingress, IngressBackend } from "../../../pkg/api/networking/v1/ingress.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import { policyOf, type Policy } from "./policy.ts"
import { RoutingTable, type PathMatch, type Route } from "./table.ts"

/** A port of a Service, by name or by number. */
export interface BackendRef {
  readonly namespace: string
  readonly service: string
  readonly port: string | number
}

/** What requests of one path are handed to. */
export interface Target {
  /** The Ingress, as `<namespace>/<name>`. */
  readonly ingress: Key
  /** Undefined for a backend that is no Service, which is answered with 503. */
  readonly backend: BackendRef | undefined
  readonly policy: Policy
}

/** Something about an Ingress that its owner should know, shown as an Event. */
export interface Problem {
  readonly ingress: Ingress
  readonly reason: "HostConflict" | "PathConflict" | "ResourceBackend" | "InvalidAnnotation" | "InvalidTLS"
  readonly message: string
}

export interface Compiled {
  readonly table: RoutingTable<Target>
  readonly problems: readonly Problem[]
  /** The namespace to which each host of a rule belongs; `""` is every other host. */
  readonly owners: ReadonlyMap<string, string>
}

/**
 * The routes of all Ingresses. A host belongs to the namespace of the oldest Ingress that names it, so that nobody
 * takes requests from another namespace; rules of others for it are left out. An Ingress without rules names every
 * host. Its default backend gets what no path of its hosts matches, and what no host matches where no other Ingress is
 * for that.
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
      return { ingress: keyFrom(metadata), backend: serviceOf(backend, namespace), policy }
    }

    const hosts = new Set<string>()
    for (const [i, { host = "", http }] of (spec.rules ?? []).entries()) {
      const owner = owners.get(host)
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
        const key = `${host}\0${path.type}\0${path.value}`
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
    else if (owners.get("") === namespace) routes.push({ host: "", target: fallback })
    else
      tell(
        "HostConflict",
        `${hostText("")} belongs to an older Ingress in namespace ${owners.get("")}: the default backend is left out`,
      )
  }
  return { table: new RoutingTable([...routes, ...freeDefaults(defaults, owners)]), problems, owners }
}

/** The default backends of Ingresses with rules, for hosts that nobody names: where nobody else is for them. */
function freeDefaults(defaults: readonly Route<Target>[], owners: ReadonlyMap<string, string>) {
  const [oldest] = defaults
  const owner = owners.get("") ?? (oldest === undefined ? undefined : namespaceOf(oldest.target))
  return defaults.filter(({ target }) => namespaceOf(target) === owner)
}

const namespaceOf = ({ ingress }: Target): string => ingress.slice(0, ingress.indexOf("/"))

function hostOwners(oldestFirst: readonly Ingress[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>()
  for (const { metadata, spec } of oldestFirst) {
    const rules = spec.rules ?? []
    const hosts = rules.length === 0 ? [""] : rules.map(({ host = "" }) => host)
    for (const host of hosts) if (!owners.has(host)) owners.set(host, metadata.namespace ?? "")
  }
  return owners
}

/** The oldest first; of the same age by name. */
export function byAge({ metadata: a }: Ingress, { metadata: b }: Ingress): number {
  const [first, second] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""]
  if (first !== second) return first < second ? -1 : 1
  return keyFrom(a) < keyFrom(b) ? -1 : 1
}

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
