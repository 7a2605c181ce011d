import { networkInterfaces } from "node:os"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { sleep } from "../../pkg/clock/clock.ts"
import { canonicalAddress } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { AccessLog } from "./access-log.ts"
import { Backends } from "./backends.ts"
import { Certificates } from "./certificates.ts"
import { defaultFrontLimits, Front, type FrontLimits, type Listening, type Secured } from "./front.ts"
import { Http1Connector } from "./http1/connector.ts"
import { Http2Connector } from "./http2/connector.ts"
import type { IngressMetrics } from "./metrics.ts"
import { heldPorts, PortHolders, type PortFault, type ServedPort } from "./port-holders.ts"
import { Exchange } from "./proxy/exchange.ts"
import type { Finished, ProxyParts } from "./proxy/proxy-parts.ts"
import { Mirrors } from "./proxy/mirrors.ts"
import type { Connector } from "./messages/messages.ts"
import { Watchdog } from "./proxy/watchdog.ts"
import { SiteRouter, type Site } from "./routing/site.ts"
import { Tunnels } from "./tls/tunnels.ts"

export interface DataPlaneConfig {
  /** The addresses of this machine. */
  readonly nodeIps: readonly string[]
  /** The port of the API server, to which no request is sent. */
  readonly apiPort: number
  readonly httpPort: number
  readonly httpsPort: number
  /** The address to listen on; all addresses of this machine by default. */
  readonly host?: string
  readonly limits?: Partial<FrontLimits>
  readonly metrics: IngressMetrics
  readonly accessLog?: AccessLog
}

/** A port of this machine that is to be opened. */
interface Port {
  readonly number: number
  readonly protocol: "http" | "tls"
  readonly mend: string
  router: SiteRouter
  listening: Listening | undefined
  /** Why the port is not open. */
  error: string | undefined
}

const portKey = ({ protocol, port }: Pick<Site, "protocol" | "port">): string => `${protocol} ${port}`

/** The kinds that are watched while something is served. */
const FOLLOWED = [Service, EndpointSlice, Secret] as const
/** Milliseconds in which running requests may end when the last site is removed or the program stops. */
const GRACE_MS = 2000
const NOTHING = new SiteRouter([])

/** Everything that serves requests. Created with the first Ingress or Gateway, and stopped with the last. */
export class DataPlane {
  readonly certificates: Certificates
  readonly #context: ComponentContext
  readonly #http1: Http1Connector
  readonly #http2: Http2Connector
  readonly #tunnels: Tunnels
  readonly #mirrors: Mirrors
  readonly #backends: Backends
  readonly #holders: PortHolders
  readonly #nodeIps: readonly string[]
  readonly #front: Front
  readonly #ports = new Map<string, Port>()
  readonly #metrics: IngressMetrics

  private constructor(context: ComponentContext, config: DataPlaneConfig, changed: () => void) {
    const { informers, random, clock } = context
    const { nodeIps, apiPort, httpsPort, metrics, accessLog } = config
    this.#context = context
    this.#metrics = metrics
    const watchdog = new Watchdog(clock)
    const http1 = (this.#http1 = new Http1Connector(watchdog))
    const http2 = (this.#http2 = new Http2Connector(watchdog))
    this.#backends = new Backends({
      informers,
      random,
      isOwn: (address, port) => (port === apiPort || this.#isOpen(port)) && isOfThisMachine(address, nodeIps),
    })
    this.certificates = new Certificates(clock)
    this.#holders = new PortHolders(clock, changed)
    this.#nodeIps = nodeIps
    const pick: ProxyParts["pick"] = (backend, tried, client) => this.#backends.pick(backend, tried, client)
    this.#tunnels = new Tunnels({ watchdog, pick, chance: () => random.next() })
    const connector: Connector = {
      connect: (endpoint, protocol, isFresh, connected) =>
        protocol === "h2c" || protocol === "h2"
          ? http2.connect(endpoint, protocol, connected)
          : http1.connect(endpoint, protocol, isFresh, connected),
    }
    const mirrors = (this.#mirrors = new Mirrors({ pick, connector, watchdog, chance: () => random.next() }))
    const parts: ProxyParts = {
      route: (request, path) => {
        const { isSecure, listener: port } = request.origin
        return this.#routerOf(isSecure ? "tls" : "http", port).find(request, path)
      },
      chance: () => random.next(),
      pick,
      connector,
      mirrors,
      watchdog,
      httpsPort,
      finished(exchange: Finished) {
        metrics.count(exchange)
        accessLog?.write(exchange)
      },
    }
    this.#front = new Front({
      watchdog,
      limits: { ...defaultFrontLimits(), ...config.limits },
      secure: (port, address, name) => this.#secure(port, address, name),
      begin: (request, client) => new Exchange(parts, request, client),
      refused: (status) => metrics.refused(status),
      ...(config.host === undefined ? {} : { host: config.host }),
    })
  }

  /**
   * Resolves when Services, endpoints and Secrets are known. `changed` is called when a certificate or the Service that
   * holds a port may have changed.
   */
  static async start(context: ComponentContext, config: DataPlaneConfig, changed: () => void): Promise<DataPlane> {
    const { informers } = context
    await Promise.all(FOLLOWED.map((resource) => informers.of(resource as typeof Secret).whenSynced()))
    const plane = new DataPlane(context, config, changed)
    informers.of(Secret).on({ added: changed, updated: changed, deleted: changed })
    const held = (service: Service) => {
      const taken = heldPorts(service, config.nodeIps)
      return plane.openPorts
        .filter(({ port }) => taken.has(port))
        .map(({ port }) => port)
        .join(" ")
    }
    const ofService = (service: Service) => void (held(service) === "" || changed())
    informers.of(Service).on({
      added: ofService,
      deleted: ofService,
      updated: (service, old) => void (held(service) === held(old) || changed()),
    })
    return plane
  }

  /** Serves these sites from now on; `listen` opens their ports. `owners` are the objects whose metrics are kept. */
  update(sites: readonly Site[], owners: ReadonlySet<string>): void {
    const byPort = Map.groupBy(sites, portKey)
    for (const [key, port] of this.#ports) {
      if (byPort.has(key)) continue
      port.listening?.close()
      this.#ports.delete(key)
    }
    for (const [key, own] of byPort) {
      const router = new SiteRouter(own)
      const { port: number, protocol, mend } = own[0]!
      const known = this.#ports.get(key)
      if (known === undefined)
        this.#ports.set(key, { number, protocol, mend, router, listening: undefined, error: undefined })
      else known.router = router
    }
    this.#metrics.keep(owners)
  }

  /** Opens the ports that are not open. Returns why some could not be opened, by port number. */
  async listen(): Promise<ReadonlyMap<number, string>> {
    const errors = new Map<number, string>()
    for (const port of this.#ports.values()) {
      if (port.listening !== undefined) continue
      try {
        port.listening = await this.#front.listen(port.protocol, port.number)
        port.error = undefined
      } catch (err) {
        port.error = (err as Error).message
        errors.set(port.number, port.error)
      }
    }
    return errors
  }

  /** Returns the Services that take the requests to the open ports. */
  portProblems(): readonly PortFault[] {
    return this.#holders.tell(this.#context.informers.of(Service).list(), this.#nodeIps, this.openPorts)
  }

  /** Returns the open port for a site's port number, which differs for 0; undefined while it is not open. */
  portOf(protocol: Site["protocol"], port: number): number | undefined {
    return this.#ports.get(portKey({ protocol, port }))?.listening?.port
  }

  async stop(): Promise<void> {
    const { clock, informers } = this.#context
    const ended = new AbortController()
    this.#tunnels.stop()
    await this.#front.stop(GRACE_MS, (ms) => sleep(clock, ms, ended.signal).catch(() => undefined))
    ended.abort()
    this.#mirrors.stop()
    this.#http1.stop()
    this.#http2.stop()
    this.#backends.stop()
    this.#holders.stop()
    this.#metrics.keep(new Set())
    for (const resource of FOLLOWED) informers.forget(resource as typeof Secret)
  }

  #routerOf(protocol: Site["protocol"], port: number): SiteRouter {
    return this.#ports.get(portKey({ protocol, port }))?.router ?? NOTHING
  }

  #secure(port: number, address: string, name: string): Secured {
    const found = this.#routerOf("tls", port).findName(address, name)
    const passthrough = found?.passthrough
    if (passthrough !== undefined)
      return { handOn: (socket, client) => this.#tunnels.open(socket, client, passthrough.backends) }
    // No listener has this server name.
    if (found === undefined) return { handOn: (socket) => void socket.destroy() }
    return { context: found.context ?? this.certificates.unsigned.context }
  }

  get openPorts(): readonly ServedPort[] {
    return [...this.#ports.values()].flatMap(({ listening, mend }) =>
      listening === undefined ? [] : { port: listening.port, mend },
    )
  }

  #isOpen(port: number): boolean {
    return this.openPorts.some((open) => open.port === port)
  }
}

/** Whether an address is one of `nodeIps`, or of any device: the API server listens at all of them. */
function isOfThisMachine(address: string, nodeIps: readonly string[]): boolean {
  const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map((one) => one.address))
  return [...nodeIps, ...own].some((one) => canonicalAddress(one) === canonicalAddress(address))
}
