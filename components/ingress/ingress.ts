import { loaded } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { OwnPorts } from "../../pkg/component/own-ports.ts"
import { SyncRunner } from "../../pkg/component/sync-runner.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import type { DataPlane, DataPlaneConfig } from "./data-plane.ts"
import { GatewaySource, type GatewayConfig } from "./gateway/source.ts"
import { IngressSource } from "./ingress-source.ts"
import type { Source, Wanted } from "./source.ts"
import { StatusTurn } from "./status/status-turn.ts"

export interface IngressConfig extends Omit<DataPlaneConfig, "metrics" | "accessLog"> {
  /** The program's metrics. */
  readonly metrics?: Registry
  /** A file for one line per request, or `-` for standard output; undefined for none. */
  readonly accessLog?: string
  /** Whether Ingresses are served; true by default. */
  readonly ingresses?: boolean
  /**
   * The name of this server, where several share a store: one of them at a time writes statuses. It always does unless
   * given.
   */
  readonly candidate?: string | undefined
  /** Is told the ports that are open, which no pod gets then. */
  readonly ownPorts?: Pick<OwnPorts, "set">
  /** How Gateways are served; without it they are not. */
  readonly gateway?: GatewayConfig
  /**
   * Returns what serves requests, once Secrets are known; by default listeners on the ports of this machine. `changed`
   * is to be called when a Secret has changed.
   */
  readonly openPlane?: (changed: () => void) => Promise<Plane>
}

/** What serves the requests to the sites. */
export type Plane = Pick<
  DataPlane,
  "certificates" | "update" | "listen" | "portProblems" | "portOf" | "openPorts" | "stop"
>

export interface IngressComponent extends Component {
  /** The open ports for Ingresses: first HTTP, then TLS. Undefined while there is no Ingress. */
  readonly ports: readonly (number | undefined)[]
}

const NOTHING: Wanted = { sites: [], owners: [] }

/** The first and the longest delay, in milliseconds, before a port that is in use is tried again. */
const FIRST_RETRY_MS = 5000
const LAST_RETRY_MS = 60_000
/**
 * The share of the time in which routes may be worked out anew. With 1,000 routes that takes 50 to 180 ms, in which no
 * request is served, and everybody who may write a route can have it done again and again.
 */
const MAX_SHARE = 0.1

/**
 * Serves the Ingresses whose class names this controller. While there is none, it does not listen, and only watches
 * Ingresses and IngressClasses.
 */
export function createIngress(context: ComponentContext, config: IngressConfig): IngressComponent {
  const { clock } = context
  const log = context.log.child({ component: "ingress" })
  const { accessLog: accessLogPath, metrics: registry = new Registry(), ...rest } = config
  const { httpPort, httpsPort } = config
  const ingressPorts = new Map<number, "http" | "tls">(
    config.ingresses === false
      ? []
      : [
          [httpPort, "http"],
          [httpsPort, "tls"],
        ],
  )
  const { nodeIps, candidate } = config
  const turn = new StatusTurn(context, { nodeIps, candidate, changed: () => request() })
  const sources: Source[] = []
  if (config.ingresses !== false) sources.push(new IngressSource(context, { ...config, turn }))
  if (config.gateway !== undefined) sources.push(new GatewaySource(context, { ...config.gateway, turn, ingressPorts }))
  /** What each source wanted last. */
  const lastWanted = new Map<Source, Wanted>()
  let plane: Plane | undefined
  let portErrors: readonly string[] = []
  let retryMs = FIRST_RETRY_MS
  /** Why nothing is served although nothing failed; undefined between start and stop. */
  let idle: string | undefined = "not started"
  let closeLog: (() => void) | undefined

  const runner = new SyncRunner({
    clock,
    sync: follow,
    failed(err) {
      log.error("Failed to update the ingress proxy; will retry", { err })
      return nextRetry()
    },
    maxShare: MAX_SHARE,
  })
  const request = () => void runner.request()

  /**
   * Returns how many milliseconds went into working out routes and statuses. A source that fails keeps what it wanted
   * last, while the other is followed. @throws Error its error, at the end
   */
  async function follow(): Promise<number> {
    const failures: unknown[] = []
    for (const source of sources) await source.prepare().catch((err: unknown) => void failures.push(err))
    const ms = await followSources(failures)
    if (failures.length > 0) throw failures[0]
    return ms
  }

  async function followSources(failures: unknown[]): Promise<number> {
    if (sources.every((source) => source.isEmpty())) {
      if (plane !== undefined) log.info("Nothing is left to serve: closed the ports")
      await close()
      for (const source of sources) await source.tell(undefined)
      return 0
    }
    const open = (plane ??= await openPlane())
    const beganAt = clock.monotonic()
    const wanted = await Promise.all(
      sources.map(async (source) => {
        try {
          lastWanted.set(source, await source.wanted(open.certificates))
        } catch (err) {
          failures.push(err)
        }
        return lastWanted.get(source) ?? NOTHING
      }),
    )
    open.update(
      wanted.flatMap(({ sites }) => sites),
      new Set(wanted.flatMap(({ owners }) => owners)),
    )
    const routedAt = clock.monotonic()
    const errors = await openPorts(open)
    const openAt = clock.monotonic()
    const faults = open.portProblems()
    for (const source of sources)
      await source
        .tell({ errors, faults, portOf: (protocol, port) => open.portOf(protocol, port) })
        .catch((err: unknown) => void failures.push(err))
    return routedAt - beganAt + (clock.monotonic() - openAt)
  }

  async function openPlane(): Promise<Plane> {
    if (config.openPlane !== undefined) return config.openPlane(request)
    // Loaded late: a cluster without Ingresses and Gateways does not need this code.
    const [{ DataPlane }, { IngressMetrics }] = await loaded(
      clock,
      Promise.all([import("./data-plane.ts"), import("./metrics.ts")]),
    )
    const metrics = new IngressMetrics(registry)
    const accessLog =
      accessLogPath === undefined
        ? undefined
        : (await import("./access-log.ts")).createAccessLog(accessLogPath, { clock, log })
    closeLog = () => accessLog?.close()
    return DataPlane.start(context, { ...rest, metrics, ...(accessLog === undefined ? {} : { accessLog }) }, request)
  }

  async function close(): Promise<void> {
    const closing = plane
    plane = undefined
    lastWanted.clear()
    portErrors = []
    retryMs = FIRST_RETRY_MS
    await closing?.stop()
    config.ownPorts?.set("ingress", [])
    closeLog?.()
  }

  async function openPorts(open: Plane): Promise<ReadonlyMap<number, string>> {
    const errors = await open.listen()
    config.ownPorts?.set(
      "ingress",
      open.openPorts.map(({ port }) => ({ port, protocol: "TCP", holder: "the proxy of Ingresses and Gateways" })),
    )
    const texts = [...errors.values()]
    for (const error of texts) if (!portErrors.includes(error)) log.error(error)
    portErrors = texts
    if (errors.size > 0) runner.requestIn(nextRetry())
    return errors
  }

  function nextRetry(): number {
    const ms = retryMs
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
    return ms
  }

  return {
    name: "ingress",
    problem: () => idle ?? runner.problem,
    get ports() {
      return plane === undefined ? [] : [plane.portOf("http", httpPort), plane.portOf("tls", httpsPort)]
    },
    async start() {
      for (const source of sources) await source.start(request)
      turn.start()
      idle = undefined
      runner.request()
      void runner.start()
    },
    async stop() {
      idle = "stopped"
      await turn.stop()
      await runner.stop()
      for (const source of sources) await source.stop()
      await close()
    },
  }
}
