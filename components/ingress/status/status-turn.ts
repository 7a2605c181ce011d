import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { runLeaderElected } from "../../../pkg/controller/leader-election.ts"

const LEASE = { namespace: "kube-system", name: "k3ts-ingress" }
/** The nodes beside control planes: these serve Ingresses and Gateways. */
const ROLE = "node-role.kubernetes.io/control-plane"
/** The delay before a server whose election failed stands again, in milliseconds. */
const RETRY_MS = 5000

export interface StatusTurnOptions {
  /** The addresses of this node. */
  readonly nodeIps: readonly string[]
  /** The name of this server in the election; undefined where it is the only server. */
  readonly candidate: string | undefined
  /** Called when the turn has come, or the addresses have changed. */
  readonly changed: () => void
}

/**
 * Says whether this server writes the statuses of Ingresses and Gateways, and with which addresses. Of several servers
 * the one that holds the Lease does, with the addresses of all that serve; otherwise each would overwrite what the
 * others write, without end. Source: ingress-nginx internal/ingress/status.
 */
export class StatusTurn {
  readonly #context: ComponentContext
  readonly #options: StatusTurnOptions
  #isOurs: boolean
  #addresses: readonly string[]
  #ending: AbortController | undefined
  #ended: Promise<unknown> = Promise.resolve()
  #off: (() => void) | undefined

  constructor(context: ComponentContext, options: StatusTurnOptions) {
    this.#context = context
    this.#options = options
    this.#isOurs = options.candidate === undefined
    this.#addresses = options.nodeIps
  }

  /** Whether this server writes. */
  get isOurs(): boolean {
    return this.#isOurs
  }

  /** The addresses at which Ingresses, and Gateways that ask for none, are served. */
  get addresses(): readonly string[] {
    return this.#addresses
  }

  start(): void {
    const { candidate } = this.#options
    if (candidate === undefined) return
    const { informers, spawn } = this.#context
    const seen = () => this.#see()
    this.#off = informers.of(Node).on({ added: seen, updated: seen, deleted: seen })
    const ending = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#ending = ending
    this.#ended = promise
    const stand = () => this.#stand(candidate, ending.signal).finally(resolve)
    spawn("election of the server that writes statuses", stand, ending.signal)
  }

  async stop(): Promise<void> {
    this.#off?.()
    this.#ending?.abort(new Error("the ingress proxy is being stopped"))
    await this.#ended
  }

  async #stand(identity: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#context
    while (!signal.aborted)
      try {
        await runLeaderElected({ ...LEASE, identity }, this.#context, signal, (leading) => this.#write(leading))
      } catch (err) {
        log.warn("Failed to take part in the election of the server that writes statuses", { err })
        await sleep(clock, RETRY_MS, signal).catch(() => undefined)
      }
  }

  /** Writes until `leading` aborts. */
  async #write(leading: AbortSignal): Promise<void> {
    this.#isOurs = true
    this.#options.changed()
    await new Promise<void>((resolve) => {
      if (leading.aborted) resolve()
      else leading.addEventListener("abort", () => resolve(), { once: true })
    })
    this.#isOurs = false
  }

  #see(): void {
    const before = this.#addresses
    this.#addresses = servingAddresses(this.#context.informers.of(Node).list(), this.#options.nodeIps)
    if (!deepEqual(before, this.#addresses)) this.#options.changed()
  }
}

/** Returns the addresses of the nodes that serve and are ready, in the order of their names, and `own` in any case. */
export function servingAddresses(nodes: readonly Node[], own: readonly string[]): readonly string[] {
  const serving = nodes
    .filter(({ metadata, status }) => {
      const isReady = status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
      return metadata.labels?.[ROLE] !== undefined && isReady
    })
    .toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
  const all = serving.flatMap(({ status }) =>
    (status.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address),
  )
  return [...new Set(all.some((address) => own.includes(address)) ? all : [...own, ...all])]
}
