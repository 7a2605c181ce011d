import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../pkg/api/networking/v1/ingressclass.ts"
import { isServedByK3ts } from "../../pkg/api/networking/v1/k3ts-class.ts"
import { loaded } from "../../pkg/clock/clock.ts"
import { inSteps } from "../../pkg/clock/in-steps.ts"
import { keyFrom, type Key } from "../../pkg/client/informer.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { startController, type RunningController } from "../../pkg/controller/start.ts"
import { Alone, together } from "./alone.ts"
import type { Certificates } from "./certificates.ts"
import type { IngressCompiler } from "./routing/compile.ts"
import type { Problem } from "./routing/problem.ts"
import type { PortsState, Source, Wanted } from "./source.ts"
import type { StatusTurn } from "./status/status-turn.ts"
import { statusController, type IngressReport } from "./status/status.ts"

export interface IngressSourceConfig {
  readonly turn: Pick<StatusTurn, "isOurs" | "addresses">
  readonly httpPort: number
  readonly httpsPort: number
}

/**
 * Watches the Ingresses whose class names this controller. While there is none, only Ingresses and IngressClasses are
 * watched.
 */
export class IngressSource implements Source {
  readonly #context: ComponentContext
  readonly #config: IngressSourceConfig
  #status: RunningController | undefined
  #reports: ReadonlyMap<Key, IngressReport> = new Map()
  #problems: readonly Problem[] = []
  #compiler: IngressCompiler | undefined
  #alone: Alone | undefined
  #unsubscribe: readonly (() => void)[] = []

  constructor(context: ComponentContext, config: IngressSourceConfig) {
    this.#context = context
    this.#config = config
  }

  async start(changed: () => void): Promise<void> {
    const { informers } = this.#context
    this.#alone = new Alone(this.#context, changed)
    this.#compiler = undefined
    const handlers = { added: changed, updated: changed, deleted: changed }
    this.#unsubscribe = [informers.of(Ingress).on(handlers), informers.of(IngressClass).on(handlers)]
    await Promise.all([informers.of(Ingress).whenSynced(), informers.of(IngressClass).whenSynced()])
    const controller = statusController({ reportOf: (key) => this.#reports.get(key), turn: this.#config.turn })
    this.#status = await startController(controller, this.#context)
  }

  async stop(): Promise<void> {
    for (const off of this.#unsubscribe) off()
    this.#unsubscribe = []
    const stopping = this.#status
    this.#status = undefined
    await Promise.all([stopping?.stop(), this.#alone?.stop()])
  }

  async prepare(): Promise<void> {}

  isEmpty(): boolean {
    return this.#ingresses().length === 0
  }

  async wanted(certificates: Certificates): Promise<Wanted> {
    const ingresses = this.#ingresses()
    if (ingresses.length === 0) return { sites: [], owners: [] }
    // Loaded late: a cluster without Ingresses does not need this code.
    const { clock, informers } = this.#context
    const [{ routeIngresses }, { IngressCompiler }] = await loaded(
      clock,
      Promise.all([import("./routing/ingress-router.ts"), import("./routing/compile.ts")]),
    )
    const compiler = (this.#compiler ??= new IngressCompiler(this.#alone))
    const compiled = await inSteps(compiler.steps(ingresses), clock)
    const { router, problems } = routeIngresses(
      ingresses,
      compiled,
      informers.of(Secret),
      certificates,
      this.#alone ?? together,
    )
    this.#problems = problems
    const { httpPort, httpsPort } = this.#config
    return {
      sites: [
        { address: undefined, port: httpPort, protocol: "http", router, mend: "set --ingress-http-port" },
        { address: undefined, port: httpsPort, protocol: "tls", router, mend: "set --ingress-https-port" },
      ],
      owners: ingresses.map(({ metadata }) => `Ingress/${keyFrom(metadata)}`),
    }
  }

  async tell(ports: PortsState | undefined): Promise<void> {
    const before = this.#reports
    this.#reports = new Map(ports === undefined ? [] : this.#report(ports))
    for (const key of new Set([...before.keys(), ...this.#reports.keys()])) this.#status?.enqueue(key)
  }

  #report({ errors, faults, portOf }: PortsState): readonly (readonly [Key, IngressReport])[] {
    const { httpPort, httpsPort, turn } = this.#config
    const open = [portOf("http", httpPort), portOf("tls", httpsPort)]
    const problems = [
      ...[httpPort, httpsPort].flatMap((port) => {
        const error = errors.get(port)
        return error === undefined
          ? []
          : { reason: "PortUnavailable", message: `${error}; the port will be tried again` }
      }),
      ...faults.filter(({ port }) => open.includes(port)).map(({ message }) => ({ reason: "PortConflict", message })),
    ]
    const addresses = open.some((port) => port !== undefined) ? turn.addresses : []
    const byKey = Map.groupBy(this.#problems, ({ ingress }) => keyFrom(ingress.metadata))
    return this.#ingresses().map(({ metadata }) => {
      const key = keyFrom(metadata)
      return [key, { addresses, problems: [...(byKey.get(key) ?? []), ...problems] }]
    })
  }

  #ingresses(): readonly Ingress[] {
    const { informers } = this.#context
    const classes = informers.of(IngressClass)
    return informers
      .of(Ingress)
      .list()
      .filter((ingress) => isServedByK3ts(ingress, classes))
  }
}
