import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import type { Listers } from "../../../../../pkg/client/informer.ts"
import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import { Backends, type BackendObjects } from "../../../../ingress/backends.ts"
import { Certificates } from "../../../../ingress/certificates.ts"
import type { Plane } from "../../../../ingress/ingress.ts"
import { Exchange } from "../../../../ingress/proxy/exchange.ts"
import { Mirrors } from "../../../../ingress/proxy/mirrors.ts"
import { Watchdog } from "../../../../ingress/proxy/watchdog.ts"
import { SiteRouter, type Site } from "../../../../ingress/routing/site.ts"
import { chooseByWeight } from "../../../../ingress/routing/target.ts"
import { ConnectionError } from "../../../../kubelet/runtime/simulated/machine/connection-error.ts"
import type { SimulatedNetwork } from "../../../../kubelet/runtime/simulated/machine/network.ts"
import { ClientSide, incoming, type Entry } from "./client-side.ts"
import { podConnector } from "./pod-connector.ts"

export interface SimulatedPlaneParts {
  readonly clock: Clock
  readonly random: Random
  readonly network: SimulatedNetwork
  readonly httpsPort: number
  /** Returns what the proxy of a node knows of Services and endpoints. */
  knownTo(node: string): Listers
}

const keyOf = ({ protocol, port }: Pick<Site, "protocol" | "port">): string => `${protocol} ${port}`

/**
 * Serves the requests of a test to Ingresses and Gateways, on every node: with the routing, the retries and the
 * deadlines of the real proxy, but without sockets.
 */
export class SimulatedPlane implements Plane {
  readonly certificates: Certificates
  readonly #parts: SimulatedPlaneParts
  readonly #watchdog: Watchdog
  #routers: ReadonlyMap<string, SiteRouter> = new Map()
  #ports: readonly Pick<Site, "port" | "mend">[] = []

  constructor(parts: SimulatedPlaneParts) {
    this.#parts = parts
    this.certificates = new Certificates(parts.clock)
    this.#watchdog = new Watchdog(parts.clock)
  }

  update(sites: readonly Site[]): void {
    this.#routers = new Map([...Map.groupBy(sites, keyOf)].map(([key, own]) => [key, new SiteRouter(own)]))
    this.#ports = sites
  }
  async listen(): Promise<ReadonlyMap<number, string>> {
    return new Map()
  }
  portProblems(): readonly [] {
    return []
  }
  portOf(protocol: Site["protocol"], port: number): number | undefined {
    return this.#routers.has(keyOf({ protocol, port })) ? port : undefined
  }
  get openPorts() {
    return this.#ports.map(({ port, mend }) => ({ port, mend }))
  }
  async stop(): Promise<void> {
    this.#routers = new Map()
    this.#ports = []
  }

  /** Whether a rule of an Ingress or a route names the host, at the address of a node. */
  names(address: string, host: string): boolean {
    return [...this.#routers.values()].some((router) => router.names(address, host))
  }

  /** Sends a request through the proxy of a node. @throws ConnectionError */
  async serve(request: Request, entry: Entry, signal: AbortSignal | undefined): Promise<Response> {
    const { random, httpsPort, network } = this.#parts
    const router = this.#routers.get(keyOf({ protocol: entry.isSecure ? "tls" : "http", port: entry.port }))!
    const body = Buffer.from(await request.arrayBuffer())
    const asked = incoming(request, body, entry)
    const backends = this.#backendsOf(entry.node)
    const chance = () => random.next()
    const { passthrough } = (entry.isSecure ? router.findName(entry.address, asked.host) : undefined) ?? {}
    if (passthrough !== undefined) {
      const chosen = chooseByWeight(passthrough.backends, chance())?.to
      const endpoint = chosen === undefined ? undefined : backends.pick(chosen, [], entry.client)?.endpoint
      if (endpoint === undefined) throw new ConnectionError("ECONNRESET", "EOF (no backend takes the TLS connection)")
      return network.fetch(
        new Request(request.url, {
          method: request.method,
          headers: request.headers,
          ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
        }),
        {
          host: endpoint.address,
          port: endpoint.port,
          timeoutMs: 30_000,
          from: entry.node,
          signal,
        },
      )
    }
    const connector = podConnector(network, entry.node)
    const pick: Backends["pick"] = (to, tried, client) => backends.pick(to, tried, client)
    const parts = { chance, pick, connector, watchdog: this.#watchdog }
    const client = new ClientSide(request, body)
    const exchange = new Exchange(
      {
        ...parts,
        mirrors: new Mirrors(parts),
        httpsPort,
        route: (message, path) => router.find(message, path),
        finished: () => undefined,
      },
      asked,
      client,
    )
    return client.answered(exchange, signal)
  }

  /** Made anew for each request: what a node knows changes without a notice. */
  #backendsOf(node: string): Backends {
    const known = this.#parts.knownTo(node)
    const informers: BackendObjects = {
      of: <T extends KubeObject>(resource: Resource<T>) => ({ ...known.of(resource), on: () => () => undefined }),
    }
    return new Backends({ informers, random: this.#parts.random, isOwn: () => false })
  }
}
