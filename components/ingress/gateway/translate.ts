import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import type { Certificates } from "../certificates.ts"
import { isRefusal } from "../routing/target.ts"
import type { Site } from "../routing/site.ts"
import { parentsOf, type Attachment, type ParentState } from "./attachments.ts"
import { resolve } from "./backend-refs.ts"
import type { Told } from "./conditions.ts"
import type { Ground } from "./ground.ts"
import { grpcRules, httpRules, type RouteRules } from "./http-rules.ts"
import { gatewayStates, isServed, type GatewayState, type ListenerState } from "./listeners.ts"
import type { AnyRoute, Objects } from "./objects.ts"
import type { Passthrough } from "../routing/site.ts"
import { GatewayRouter, type HostRoutes, type ListenerRoutes } from "./router.ts"
import type { Rule } from "./rule-table.ts"

/** A route with its parents and compiled rules; its status is made from these. */
export interface RouteState {
  readonly of: AnyRoute
  readonly parents: readonly ParentState[]
  readonly rules: CompiledRoute
}

/** The compiled rules of a route, which are the same at every listener. */
interface CompiledRoute extends RouteRules {
  readonly passthrough?: Passthrough
}

export interface Translation {
  readonly gateways: readonly GatewayState[]
  readonly routes: readonly RouteState[]
  readonly sites: readonly Site[]
  /** The number of accepted routes at each listener. */
  readonly attached: ReadonlyMap<ListenerState, number>
}

/** Works out from all objects which ports, hosts and rules are served, and the states that statuses are made from. */
export function translate(objects: Objects, certificates: Certificates, ground: Ground): Translation {
  const gateways = gatewayStates(objects, certificates, ground)
  const byKey = new Map<Key, GatewayState>(gateways.map((state) => [keyFrom(state.gateway.metadata), state]))
  const compiled = new Map<AnyRoute, CompiledRoute>()
  const routes = objects.routes.flatMap((of): readonly RouteState[] => {
    const parents = parentsOf(of, byKey, objects)
    if (parents.length === 0) return []
    const rules = compile(of, objects)
    compiled.set(of, rules)
    return [{ of, parents, rules }]
  })
  const attached = new Map<ListenerState, number>()
  const attachments = routes.flatMap(({ parents }) => parents.flatMap((parent) => parent.attachments))
  for (const { state } of new Map(attachments.map((each) => [pairKey(each), each])).values())
    attached.set(state, (attached.get(state) ?? 0) + 1)
  return { gateways, routes, attached, sites: sitesOf(gateways, attachments, compiled) }
}

/** A route that names a listener twice, once by `sectionName` and once by its Gateway, is counted once. */
const pairKey = ({ state, of }: Attachment): string =>
  `${keyFrom(state.gateway.metadata)} ${state.listener.name} ${of.kind} ${keyFrom(of.route.metadata)}`

function compile(of: AnyRoute, objects: Objects): CompiledRoute {
  if (of.kind === "HTTPRoute") return httpRules(of.route, objects)
  if (of.kind === "GRPCRoute") return grpcRules(of.route, objects)
  const { metadata, spec } = of.route
  const from = { kind: of.kind, namespace: metadata.namespace ?? "" }
  const unresolved: Told[] = []
  const backends = spec.rules.flatMap(({ backendRefs }) =>
    backendRefs.map(({ weight, ...reference }) => {
      const { to, problem } = resolve(reference, from, objects)
      if (problem !== undefined) unresolved.push(problem)
      return { weight, to: isRefusal(to) ? undefined : to }
    }),
  )
  return { rules: [], unresolved, unsupported: [], isUnsupported: false, passthrough: { backends } }
}

/** The routes for one host at one address, port and listener hostname, by Gateway. */
interface Place {
  readonly gateways: Map<Key, { readonly since: string; readonly routes: Set<AnyRoute> }>
}

function sitesOf(
  gateways: readonly GatewayState[],
  attachments: readonly Attachment[],
  compiled: ReadonlyMap<AnyRoute, CompiledRoute>,
): readonly Site[] {
  const byListener = Map.groupBy(attachments, ({ state }) => state)
  /** By `<address> <port> <protocol>`. */
  const sites = new Map<string, { readonly site: Omit<Site, "router">; readonly listeners: Listeners }>()
  for (const { refusal, listeners, addresses } of gateways) {
    if (refusal !== undefined || addresses.told?.type === "Accepted") continue
    for (const state of listeners.filter(isServed)) {
      const { port } = state.listener
      const protocol = state.mode === "http" ? "http" : "tls"
      for (const address of addresses.sites) {
        const key = `${address ?? ""} ${port} ${protocol}`
        let known = sites.get(key)
        if (known === undefined) {
          const mend = "choose another port for the listener"
          sites.set(key, (known = { site: { address, port, protocol, mend }, listeners: new Listeners() }))
        }
        known.listeners.add(state, byListener.get(state) ?? [])
      }
    }
  }
  return [...sites.values()].map(({ site, listeners }) => ({
    ...site,
    router: new GatewayRouter(listeners.routes(compiled)),
  }))
}

/** The listeners of one port, by hostname. Several Gateways may have listeners with the same hostname. */
class Listeners {
  readonly #byHostname = new Map<string, { readonly first: ListenerState; readonly hosts: Map<string, Place> }>()

  add(state: ListenerState, attachments: readonly Attachment[]): void {
    let known = this.#byHostname.get(state.hostname)
    if (known === undefined) this.#byHostname.set(state.hostname, (known = { first: state, hosts: new Map() }))
    const gateway = keyFrom(state.gateway.metadata)
    for (const { of, hostnames } of attachments)
      for (const host of hostnames) {
        let place = known.hosts.get(host)
        if (place === undefined) known.hosts.set(host, (place = { gateways: new Map() }))
        const own = place.gateways.get(gateway)
        // Routes are added oldest first, so the first one gives the time.
        if (own === undefined) place.gateways.set(gateway, { since: sinceOf(of), routes: new Set([of]) })
        else own.routes.add(of)
      }
  }

  routes(compiled: ReadonlyMap<AnyRoute, CompiledRoute>): ReadonlyMap<string, ListenerRoutes> {
    return new Map(
      [...this.#byHostname].map(([hostname, { first, hosts }]) => [
        hostname,
        {
          since: first.gateway.metadata.creationTimestamp ?? "",
          certificate: first.certificate,
          hosts: new Map([...hosts].map(([host, place]) => [host, hostRoutes(place, compiled)])),
        },
      ]),
    )
  }
}

/**
 * Returns the rules for a host. When several Gateways share an address, a port and a host, only the Gateway with the
 * oldest route for it serves the host: someone who may attach routes to one Gateway cannot take requests of another.
 */
function hostRoutes({ gateways }: Place, compiled: ReadonlyMap<AnyRoute, CompiledRoute>): HostRoutes {
  const [oldest] = [...gateways.values()].sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0))
  const { since, routes } = oldest!
  const all = [...routes].flatMap((of) => compiled.get(of) ?? [])
  const rules: readonly Rule[] = all.flatMap((each) => each.rules)
  return { since, rules, passthrough: all.find(({ passthrough }) => passthrough !== undefined)?.passthrough }
}

const sinceOf = ({ route }: AnyRoute): string => route.metadata.creationTimestamp ?? ""
