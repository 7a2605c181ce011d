import type { IncomingRequest } from "../../messages/messages.ts"
import { HostMap } from "../../routing/host-map.ts"
import type { RouteMatch, NameMatch, Passthrough, Router } from "../../routing/site.ts"
import type { Refusal } from "../../routing/target.ts"
import type { Certificate } from "../../certificates.ts"
import { RuleTable, type Rule } from "./rule-table.ts"

/** The routes of one host at a listener. */
export interface HostRoutes {
  /** The creation time of the oldest route that names the host. */
  readonly since: string
  /** In the order of precedence of their routes: the earlier rule wins among equal matches. */
  readonly rules: readonly Rule[]
  readonly passthrough: Passthrough | undefined
}

/** The routes of the listeners that have one hostname at a port, by the hosts of the routes. */
export interface ListenerRoutes {
  readonly since: string
  /** Undefined for listeners without TLS and for TLS passthrough. */
  readonly certificate: Certificate | undefined
  readonly hosts: ReadonlyMap<string, HostRoutes>
}

interface Compiled extends Omit<ListenerRoutes, "hosts"> {
  readonly hosts: HostMap<{ readonly since: string; readonly rules: RuleTable; readonly passthrough?: Passthrough }>
}

const MISDIRECTED: Refusal = { status: 421, reason: "this host is served by another name over TLS" }

/**
 * Routes the requests to one port by the listeners and routes of all Gateways. A request belongs to the listener with
 * the most specific hostname. Among the routes of this listener the most specific hostname is tried first.
 */
export class GatewayRouter implements Router {
  readonly #listeners = new HostMap<Compiled>()

  constructor(listeners: ReadonlyMap<string, ListenerRoutes>) {
    for (const [hostname, { hosts, ...listener }] of listeners) {
      const compiled: Compiled = { ...listener, hosts: new HostMap() }
      for (const [host, { since, rules, passthrough }] of hosts) {
        const table = new RuleTable(rules)
        compiled.hosts.set(host, { since, rules: table, ...(passthrough === undefined ? {} : { passthrough }) })
      }
      this.#listeners.set(hostname, compiled)
    }
  }

  find(request: IncomingRequest, path: string): RouteMatch | undefined {
    const found = this.#listeners.find(request.host)
    if (found === undefined) return undefined
    const [hostname, listener] = found
    const { serverName = "" } = request.origin
    // The client chose a certificate of another listener by its server name. Source: RFC 9110, 15.5.20.
    if (serverName !== "" && this.#listeners.find(serverName)?.[1] !== listener)
      return { host: hostname, since: listener.since, target: MISDIRECTED }
    for (const [host, { since, rules }] of listener.hosts.matching(request.host)) {
      const target = rules.match(request, path)
      if (target !== undefined) return { host, since, target }
    }
    return undefined
  }

  findName(name: string): NameMatch | undefined {
    const found = this.#listeners.find(name)
    if (found === undefined) return undefined
    const [host, { since, certificate, hosts }] = found
    if (certificate !== undefined) return { host, since, context: certificate.context }
    // Without a route there is no backend for the connection: an empty list of backends closes it.
    return { host, since, passthrough: hosts.find(name)?.[1].passthrough ?? { backends: [] } }
  }

  names(host: string): boolean {
    const found = this.#listeners.find(host)
    if (found === undefined) return false
    const [hostname, { hosts }] = found
    return hostname !== "" || (hosts.find(host)?.[0] ?? "") !== ""
  }
}
