import type { IncomingRequest } from "../proxy/messages.ts"
import { HostMap } from "../routing/host-map.ts"
import type { Found, FoundName, Passthrough, Router } from "../routing/site.ts"
import type { Refusal } from "../routing/target.ts"
import type { Certificate } from "../certificates.ts"
import { RuleTable, type Rule } from "./rule-table.ts"

/** What a listener has for one of its hosts. */
export interface HostRoutes {
  /** When the oldest route was created that names the host. */
  readonly since: string
  /** In the order of precedence of their routes. */
  readonly rules: readonly Rule[]
  readonly passthrough: Passthrough | undefined
}

/** One host name or pattern at a port, as the listeners with this hostname have it. */
export interface ListenerRoutes {
  readonly since: string
  /** Undefined where connections are not decrypted, and without TLS. */
  readonly certificate: Certificate | undefined
  readonly hosts: ReadonlyMap<string, HostRoutes>
}

interface Compiled extends Omit<ListenerRoutes, "hosts"> {
  readonly hosts: HostMap<{ readonly since: string; readonly rules: RuleTable; readonly passthrough?: Passthrough }>
}

const MISDIRECTED: Refusal = { status: 421, reason: "this host is served by another name over TLS" }

/**
 * The routes of all Gateways at one port. The listener with the most specific hostname has a request; at it the route
 * with the most specific hostname comes first.
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

  find(request: IncomingRequest, path: string): Found | undefined {
    const found = this.#listeners.find(request.host)
    if (found === undefined) return undefined
    const [hostname, listener] = found
    const { serverName = "" } = request.origin
    // The client has asked for the certificate of another listener. Source: RFC 9110, 15.5.20.
    if (serverName !== "" && this.#listeners.find(serverName)?.[1] !== listener)
      return { host: hostname, since: listener.since, target: MISDIRECTED }
    for (const [host, { since, rules }] of listener.hosts.matching(request.host)) {
      const target = rules.match(request, path)
      if (target !== undefined) return { host, since, target }
    }
    return undefined
  }

  findName(name: string): FoundName | undefined {
    const found = this.#listeners.find(name)
    if (found === undefined) return undefined
    const [host, { since, certificate, hosts }] = found
    if (certificate !== undefined) return { host, since, context: certificate.context }
    // Without a route there is nobody to whom the connection could be handed.
    return { host, since, passthrough: hosts.find(name)?.[1].passthrough ?? { backends: [] } }
  }
}
