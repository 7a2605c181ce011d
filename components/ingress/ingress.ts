import { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../pkg/api/networking/v1/ingressclass.ts"
import { isServedByK3ts } from "../../pkg/api/networking/v1/k3ts-class.ts"
import { keyFrom, type Key } from "../../pkg/client/informer.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { SyncRunner } from "../../pkg/component/sync-runner.ts"
import { startController, type RunningController } from "../../pkg/controller/start.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import type { DataPlane, DataPlaneConfig } from "./data-plane.ts"
import type { Problem } from "./routing/compile.ts"
import { statusController, type Told } from "./status.ts"

export interface IngressConfig extends Omit<DataPlaneConfig, "metrics" | "accessLog"> {
  /** The program's metrics. */
  readonly metrics?: Registry
  /** File for a line a request, or `-` for standard output; absent for none. */
  readonly accessLog?: string
}

export interface IngressComponent extends Component {
  /** The open ports: that for HTTP, and that for TLS. None while there is no Ingress. */
  readonly ports: readonly (number | undefined)[]
}

/** How soon a port that another program uses is tried again: at first, and at last. Not while there is no Ingress. */
const FIRST_RETRY_MS = 5000
const LAST_RETRY_MS = 60_000

/**
 * Serves the Ingresses whose class names this controller. While there is none, nothing listens and only Ingresses and
 * their classes are followed.
 */
export function createIngress(context: ComponentContext, config: IngressConfig): IngressComponent {
  const { informers, clock } = context
  const log = context.log.child({ component: "ingress" })
  const { accessLog: accessLogPath, metrics: registry = new Registry(), ...rest } = config
  let plane: DataPlane | undefined
  let status: RunningController | undefined
  let told: ReadonlyMap<Key, Told> = new Map()
  let portErrors: readonly string[] = []
  let retryMs = FIRST_RETRY_MS
  let unsubscribe: (() => void)[] = []
  /** Why nothing is served on purpose; undefined between start and stop. */
  let idle: string | undefined = "not started"
  let closeLog: (() => void) | undefined

  const runner = new SyncRunner({
    clock,
    sync: () => follow(ours()),
    failed(err) {
      log.error("Could not follow the Ingresses; will retry", { err })
      return nextRetry()
    },
  })
  const request = () => void runner.request()

  const ours = (): readonly Ingress[] =>
    informers
      .of(Ingress)
      .list()
      .filter((ingress) => isServedByK3ts(ingress, informers.of(IngressClass)))

  async function follow(ingresses: readonly Ingress[]): Promise<void> {
    const before = told
    if (ingresses.length === 0) {
      if (plane !== undefined) log.info("No Ingress is left: closed the ports")
      await close()
      told = new Map()
    } else {
      plane ??= await open()
      const problems = plane.update(ingresses)
      await openPorts(plane)
      told = tell(ingresses, problems, plane)
    }
    for (const key of new Set([...before.keys(), ...told.keys()])) status?.enqueue(key)
  }

  async function open(): Promise<DataPlane> {
    // What no cluster without an Ingress needs is not loaded there.
    const [{ DataPlane }, { IngressMetrics }] = await Promise.all([import("./data-plane.ts"), import("./metrics.ts")])
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
    portErrors = []
    retryMs = FIRST_RETRY_MS
    await closing?.stop()
    closeLog?.()
  }

  async function openPorts(open: DataPlane): Promise<void> {
    const before = String(open.ports)
    const errors = await open.listen()
    for (const error of errors) if (!portErrors.includes(error)) log.error(error)
    if (String(open.ports) !== before) log.debug("Ingress ports are open", { ports: open.ports })
    portErrors = errors
    if (errors.length > 0) runner.requestIn(nextRetry())
  }

  function nextRetry(): number {
    const ms = retryMs
    retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
    return ms
  }

  function tell(ingresses: readonly Ingress[], problems: readonly Problem[], open: DataPlane): ReadonlyMap<Key, Told> {
    const addresses = open.ports.some((port) => port !== undefined) ? config.nodeIps : []
    const ports = [
      ...portErrors.map((message) => ({ reason: "PortUnavailable", message: `${message}; it is tried again` })),
      ...open.portProblems().map((message) => ({ reason: "PortConflict", message })),
    ]
    const byKey = Map.groupBy(problems, ({ ingress }) => keyFrom(ingress.metadata))
    return new Map(
      ingresses.map(({ metadata }) => {
        const key = keyFrom(metadata)
        return [key, { addresses, problems: [...(byKey.get(key) ?? []), ...ports] }]
      }),
    )
  }

  return {
    name: "ingress",
    problem: () => idle ?? runner.problem,
    get ports() {
      return plane?.ports ?? []
    },
    async start() {
      const of = <T extends typeof Ingress | typeof IngressClass>(resource: T) =>
        informers.of(resource as typeof Ingress).on({ added: request, updated: request, deleted: request })
      unsubscribe = [of(Ingress), of(IngressClass)]
      await Promise.all([informers.of(Ingress).whenSynced(), informers.of(IngressClass).whenSynced()])
      status = await startController(statusController({ told: (key) => told.get(key) }), context)
      idle = undefined
      runner.request()
      void runner.start()
    },
    async stop() {
      idle = "stopped"
      unsubscribe.forEach((off) => off())
      unsubscribe = []
      await runner.stop()
      await close()
      const stopping = status
      status = undefined
      await stopping?.stop()
    },
  }
}
