import { Secret } from "../../pkg/api/core/v1/secret.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import { sleep } from "../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { AccessLog } from "./access-log.ts"
import { Backends } from "./backends.ts"
import { Certificates } from "./certificates.ts"
import { defaultFrontLimits, Front, type FrontLimits } from "./front.ts"
import { Http1Connector } from "./http1/connector.ts"
import { Http2Connector } from "./http2/connector.ts"
import type { IngressMetrics } from "./metrics.ts"
import { heldPorts, PortHolders } from "./port-holders.ts"
import { Exchange, type Finished, type ProxyParts } from "./proxy/exchange.ts"
import type { Connector } from "./proxy/messages.ts"
import { Watchdog } from "./proxy/watchdog.ts"
import { compile, type Problem, type Target } from "./routing/compile.ts"
import { RoutingTable } from "./routing/table.ts"

export interface DataPlaneConfig {
  /** Addresses of this machine. */
  readonly nodeIps: readonly string[]
  /** Port of the API server, to which no request is sent. */
  readonly apiPort: number
  readonly httpPort: number
  readonly httpsPort: number
  /** Address to listen on; all of this machine unless given. */
  readonly host?: string
  readonly limits?: Partial<FrontLimits>
  readonly metrics: IngressMetrics
  readonly accessLog?: AccessLog
}

/** What an open listener needs, and what it has cost so far to open it. */
interface Listener {
  /** The flag that sets its port. */
  readonly flag: string
  readonly open: () => Promise<number>
  port: number | undefined
  /** Why it is not open. */
  error: string | undefined
}

/** Kinds that are followed while there are Ingresses. */
const FOLLOWED = [Service, EndpointSlice, Secret] as const
/** How long requests under way may take when the last Ingress, or the program, goes. */
const GRACE_MS = 2000

/** All that serves requests: made with the first Ingress, and stopped with the last. */
export class DataPlane {
  readonly #context: ComponentContext
  readonly #http1: Http1Connector
  readonly #http2: Http2Connector
  readonly #backends: Backends
  readonly #certificates: Certificates
  readonly #holders: PortHolders
  readonly #nodeIps: readonly string[]
  readonly #front: Front
  readonly #listeners: readonly Listener[]
  readonly #metrics: IngressMetrics
  #table = new RoutingTable<Target>([])

  private constructor(context: ComponentContext, config: DataPlaneConfig, changed: () => void) {
    const { informers, random, clock } = context
    const { nodeIps, apiPort, httpPort, httpsPort, metrics, accessLog } = config
    this.#context = context
    this.#metrics = metrics
    const watchdog = new Watchdog(clock)
    const http1 = (this.#http1 = new Http1Connector(watchdog))
    const http2 = (this.#http2 = new Http2Connector(watchdog))
    const ownPorts = new Set([apiPort, httpPort, httpsPort])
    this.#backends = new Backends({
      informers,
      random,
      isOwn: (address, port) => ownPorts.has(port) && nodeIps.includes(address),
    })
    this.#certificates = new Certificates(clock)
    this.#holders = new PortHolders(clock, changed)
    this.#nodeIps = nodeIps
    const connector: Connector = {
      connect: (endpoint, protocol, isFresh, connected) =>
        protocol === "h2c" ? http2.connect(endpoint, connected) : http1.connect(endpoint, protocol, isFresh, connected),
    }
    const parts: ProxyParts = {
      table: () => this.#table,
      pick: (backend, tried, client) => this.#backends.pick(backend, tried, client),
      connector,
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
      certificates: this.#certificates,
      begin: (request, client) => new Exchange(parts, request, client),
      refused: (status) => metrics.refused(status),
      ...(config.host === undefined ? {} : { host: config.host }),
    })
    const listener = (flag: string, open: () => Promise<number>): Listener => ({
      flag,
      open,
      port: undefined,
      error: undefined,
    })
    this.#listeners = [
      listener("--ingress-http-port", () => this.#front.openHttp(httpPort)),
      listener("--ingress-https-port", () => this.#front.openHttps(httpsPort)),
    ]
  }

  /** Resolves when Services, endpoints and Secrets are known. `changed`: a certificate or who holds a port may have. */
  static async start(context: ComponentContext, config: DataPlaneConfig, changed: () => void): Promise<DataPlane> {
    const { informers } = context
    await Promise.all(FOLLOWED.map((resource) => informers.of(resource as typeof Secret).whenSynced()))
    const plane = new DataPlane(context, config, changed)
    informers.of(Secret).on({ added: changed, updated: changed, deleted: changed })
    const held = (service: Service) => {
      const taken = heldPorts(service, config.nodeIps)
      return plane.ports.filter((port) => port !== undefined && taken.has(port)).join(" ")
    }
    const ofService = (service: Service) => void (held(service) === "" || changed())
    informers.of(Service).on({
      added: ofService,
      deleted: ofService,
      updated: (service, old) => void (held(service) === held(old) || changed()),
    })
    return plane
  }

  /** Serves these Ingresses from now on. Gives what is wrong with them. */
  update(ingresses: readonly Ingress[]): readonly Problem[] {
    const { table, problems, owners } = compile(ingresses)
    const secrets = this.#context.informers.of(Secret)
    this.#table = table
    this.#metrics.keep(new Set(ingresses.map(({ metadata }) => keyFrom(metadata))))
    return [...problems, ...this.#certificates.update(ingresses, owners, secrets)]
  }

  /** Opens the listeners that are not open. Gives why some could not be. */
  async listen(): Promise<readonly string[]> {
    for (const listener of this.#listeners) {
      if (listener.port !== undefined) continue
      try {
        listener.port = await listener.open()
        listener.error = undefined
      } catch (err) {
        listener.error = (err as Error).message
      }
    }
    return this.#listeners.flatMap(({ error }) => error ?? [])
  }

  /** Which Services take requests to the open ports. */
  portProblems(): readonly string[] {
    const open = this.#listeners.flatMap(({ port, flag }) => (port === undefined ? [] : { port, flag }))
    return this.#holders.tell(this.#context.informers.of(Service).list(), this.#nodeIps, open)
  }

  /** The open ports: that for HTTP, and that for TLS. */
  get ports(): readonly (number | undefined)[] {
    return this.#listeners.map(({ port }) => port)
  }

  async stop(): Promise<void> {
    const { clock, informers } = this.#context
    const ended = new AbortController()
    await this.#front.stop(GRACE_MS, (ms) => sleep(clock, ms, ended.signal).catch(() => undefined))
    ended.abort()
    this.#http1.stop()
    this.#http2.stop()
    this.#backends.stop()
    this.#holders.stop()
    this.#metrics.keep(new Set())
    for (const resource of FOLLOWED) informers.forget(resource as typeof Secret)
  }
}
