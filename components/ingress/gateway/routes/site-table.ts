import { keyFrom, type Key } from "../../../../pkg/client/informer.ts"
import type { Site } from "../../routing/site.ts"
import type { Attachment } from "../listeners/attachments.ts"
import { isServed, type GatewayState, type ListenerState } from "../listeners/listeners.ts"
import type { AnyRoute } from "../watching/objects.ts"
import { GatewayRouter, type HostRoutes, type ListenerRoutes } from "./router.ts"
import type { Rule } from "./rule-table.ts"
import type { CompiledRoute } from "./route-state.ts"

/** The routes of one Gateway for a host. `since` is the creation time of the oldest one. */
interface Own {
  readonly since: string
  readonly routes: Set<AnyRoute>
}

/** The routes for one host at one address, port and listener hostname, by Gateway. */
interface Place {
  readonly gateways: Map<Key, Own>
}

interface OpenSite {
  readonly site: Omit<Site, "router">
  readonly listeners: Listeners
}

/** The addresses and ports at which Gateways are served, with the listeners and routes of each. */
export class SiteTable {
  /** By `<address> <port> <protocol>`. */
  readonly #sites = new Map<string, OpenSite>()
  /** The sites at which a listener is served. */
  readonly #served = new Map<ListenerState, readonly OpenSite[]>()

  constructor(gateways: readonly GatewayState[], attachments: readonly Attachment[]) {
    const byListener = Map.groupBy(attachments, ({ state }) => state)
    for (const { refusal, listeners, addresses } of gateways) {
      if (refusal !== undefined || addresses.refusal?.type === "Accepted") continue
      for (const state of listeners.filter(isServed)) {
        const sites = addresses.sites.map((address) => this.#siteOf(state, address))
        for (const { listeners: own } of sites) own.add(state, byListener.get(state) ?? [])
        this.#served.set(state, sites)
      }
    }
  }

  /**
   * Returns the other Gateway that serves a host of a listener; undefined when the listener's own Gateway serves it at
   * an address, and when the listener is not served.
   */
  otherOwnerOf(state: ListenerState, host: string): Key | undefined {
    const owners = (this.#served.get(state) ?? []).map(({ listeners }) => listeners.ownerOf(state.hostname, host))
    return owners.includes(keyFrom(state.gateway.metadata)) ? undefined : owners[0]
  }

  sites(compiled: ReadonlyMap<AnyRoute, CompiledRoute>): readonly Site[] {
    return [...this.#sites.values()].map(({ site, listeners }) => ({
      ...site,
      router: new GatewayRouter(listeners.routes(compiled)),
    }))
  }

  #siteOf({ listener: { port }, mode }: ListenerState, address: string | undefined): OpenSite {
    const protocol = mode === "http" ? "http" : "tls"
    const key = `${address ?? ""} ${port} ${protocol}`
    let known = this.#sites.get(key)
    if (known === undefined) {
      const mend = "choose another port for the listener"
      this.#sites.set(key, (known = { site: { address, port, protocol, mend }, listeners: new Listeners() }))
    }
    return known
  }
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

  /** Returns the Gateway that serves a host of a listener's hostname. */
  ownerOf(hostname: string, host: string): Key | undefined {
    const place = this.#byHostname.get(hostname)?.hosts.get(host)
    return place === undefined ? undefined : ownerOf(place)[0]
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
 * Returns the Gateway that serves a host, and its routes. When several Gateways share an address, a port and a host,
 * only the Gateway with the oldest route for it serves the host: someone who may attach routes to one Gateway cannot
 * take requests of another.
 */
function ownerOf({ gateways }: Place): readonly [Key, Own] {
  const [oldest] = [...gateways].sort(([, a], [, b]) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0))
  return oldest!
}

function hostRoutes(place: Place, compiled: ReadonlyMap<AnyRoute, CompiledRoute>): HostRoutes {
  const [, { since, routes }] = ownerOf(place)
  const all = [...routes].flatMap((of) => compiled.get(of) ?? [])
  const rules: readonly Rule[] = all.flatMap((each) => each.rules)
  return { since, rules, passthrough: all.find(({ passthrough }) => passthrough !== undefined)?.passthrough }
}

const sinceOf = ({ route }: AnyRoute): string => route.metadata.creationTimestamp ?? ""
