import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { requestsOf, type Amounts } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { ExtensionPoint } from "../../../pkg/scheduler-plugin/extension-points.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { SCHEDULING_EVENTS, type Refusal, type SchedulingEvent } from "../../../pkg/scheduler-plugin/plugin.ts"
import type { PluginRequest } from "../../../pkg/scheduler-plugin/protocol.ts"
import type { Cache } from "../cache.ts"
import type { Attempt, External, Filtered } from "../external/external.ts"
import { SUCCESS, type ClusterAction, type Plugin, type Status } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"
import type { Breaker } from "./breaker.ts"
import { filterAnswer, nominateAnswer, refusalAnswer, scoreAnswer, sortKeyAnswer } from "./plugin-answers.ts"
import { shownObject, shownPod, viewOf } from "./node-feed.ts"
import { QueueGate } from "./queue-gate.ts"
import { PluginError, type PluginHost } from "./plugin-host.ts"

/** Deadlines unless the plugin has some, in milliseconds: while a pod waits for its node, and when it has one. */
const IN_CYCLE_MS = 1000
const IN_BINDING_MS = 30_000
/** Most open questions whether an event helps a pod: a pod about which none can be asked is tried. */
const MOST_HINTS = 100
const BINDING: ReadonlySet<ExtensionPoint> = new Set(["permit", "preBind", "bind", "postBind"])

export interface PluginExternalOptions {
  readonly host: PluginHost
  readonly breaker: Breaker
  readonly cache: Cache
  readonly clock: Clock
  readonly log: Logger
  /** Has the queue look again at a pod that was held back, or at all of them. */
  recheck(pod?: Pod): void
  readonly args: unknown
  /** Weight of the score in the profile; undefined for that of the plugin. */
  readonly weight: number | undefined
  /** Whether the profile has the plugin at the point. */
  isEnabled(point: ExtensionPoint): boolean
}

/** A plugin of one's own, in one profile. */
export class PluginExternal implements External {
  readonly sees = "all"
  readonly queueing: Plugin
  readonly #options: PluginExternalOptions
  readonly #gate: QueueGate
  /** Hints that were asked for and have not come. */
  #hints = 0

  constructor(options: PluginExternalOptions) {
    this.#options = options
    const { host, clock, log, recheck } = options
    const events = () => host.description.events ?? SCHEDULING_EVENTS
    this.#gate = new QueueGate({
      clock,
      log,
      recheck,
      preEnqueue: async (pod) =>
        this.does("preEnqueue") ? refusalAnswer(await this.#onPod("preEnqueue", pod)) : undefined,
      sortKey: async (pod) => (this.does("queueSort") ? sortKeyAnswer(await this.#onPod("queueSort", pod)) : undefined),
      registers: (action) => (events() as readonly ClusterAction[]).includes(action),
      isIgnorable: () => this.ignorable,
    })
    const isAsked = () => this.does("preEnqueue") || this.does("queueSort")
    const hint: Plugin["hint"] = (pod, action, object, wake) =>
      void this.#hint(pod, action, object).then((yes) => yes && wake())
    this.queueing = {
      name: host.description.name,
      get eventsToRegister() {
        return events()
      },
      preEnqueue: (pod) => (isAsked() && this.concerns(pod) ? this.#gate.check(pod) : SUCCESS),
      ...(options.isEnabled("queueSort") ? { sortKey: (pod) => this.#gate.sortKey(pod) } : {}),
      get hint() {
        return host.description.hints ? hint : undefined
      },
    }
  }

  happened(action: ClusterAction): void {
    this.#gate.happened(action)
  }
  stop(): void {
    this.#gate.stop()
  }

  /** Whether the event may help the pod; also where the plugin fails, or has too many questions open. */
  async #hint(pod: Pod, action: ClusterAction, object: unknown): Promise<boolean> {
    if (this.#hints >= MOST_HINTS) return true
    this.#hints++
    try {
      const event = action as SchedulingEvent
      const request = { call: "queueingHint", pod: shownPod(pod), event, object: shownObject(object) } as const
      return (await this.#ask("preEnqueue", request)) !== false
    } catch {
      return true
    } finally {
      this.#hints--
    }
  }

  #onPod(call: "preEnqueue" | "queueSort", pod: Pod): Promise<unknown> {
    return this.#ask(call, { call, pod: shownPod(pod) })
  }

  get name(): string {
    return this.#options.host.description.name
  }
  get ignorable(): boolean {
    return this.#options.host.description.ignorable
  }

  concerns(pod: Pod): boolean {
    const { metadata } = pod
    const { resources, labels, namespaces } = this.#options.host.description.pods
    if (namespaces?.includes(metadata.namespace ?? "") === false) return false
    if (labels !== undefined && !Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value))
      return false
    if (resources === undefined) return true
    const { exact } = requestsOf(pod)
    return resources.some((name) => amountOf(exact, name) > 0)
  }

  does(point: ExtensionPoint): boolean {
    const { host, isEnabled } = this.#options
    return host.description.points.includes(point) && isEnabled(point)
  }

  async filter(attempt: Attempt, nodes: readonly NodeInfo[], instead?: NodeInfo): Promise<Filtered> {
    const names = nodes.map(({ name }) => name)
    const points = (["preFilter", "filter"] as const).filter((point) => this.does(point))
    const answer = await this.#ask("filter", {
      call: "filter",
      attempt: this.#told(attempt),
      nodes: names,
      points,
      ...(instead === undefined ? {} : { instead: [viewOf(instead)] }),
    })
    return filterAnswer(answer, new Set(names))
  }

  async score(attempt: Attempt, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>> {
    const { host, weight = host.description.weight } = this.#options
    const names = nodes.map(({ name }) => name)
    const points = (["preScore", "score"] as const).filter((point) => this.does(point))
    const answer = await this.#ask("score", { call: "score", attempt: this.#told(attempt), nodes: names, points })
    return scoreAnswer(answer, names, weight)
  }

  async postFilter(attempt: Attempt, refused: ReadonlyMap<string, Status>): Promise<string | undefined> {
    const reasons = Object.fromEntries(
      [...refused].map(([name, { code, reasons }]): [string, Refusal] => [
        name,
        { reason: reasons.join(", "), ...(code === "Unschedulable" ? {} : { unresolvable: true }) },
      ]),
    )
    return nominateAnswer(
      await this.#ask("postFilter", { call: "postFilter", attempt: this.#told(attempt), refused: reasons }),
    )
  }

  async reserve(attempt: Attempt, node: string): Promise<void> {
    await this.#onNode("reserve", attempt, node)
  }
  async unreserve(attempt: Attempt, node: string): Promise<void> {
    await this.#onNode("unreserve", attempt, node)
  }
  async permit(attempt: Attempt, node: string): Promise<Status> {
    return refusalAnswer(await this.#onNode("permit", attempt, node)) ?? SUCCESS
  }
  async preBind(attempt: Attempt, node: string): Promise<void> {
    await this.#onNode("preBind", attempt, node)
  }
  async bind(attempt: Attempt, node: string): Promise<boolean> {
    return (await this.#onNode("bind", attempt, node)) === true
  }
  async postBind(attempt: Attempt, node: string): Promise<void> {
    await this.#onNode("postBind", attempt, node)
  }

  ended({ key }: Attempt): void {
    this.#options.host.tell({ call: "end", key })
  }

  #onNode(call: Extract<PluginRequest, { node: string }>["call"], attempt: Attempt, node: string): Promise<unknown> {
    return this.#ask(call === "unreserve" ? "reserve" : call, { call, attempt: this.#told(attempt), node })
  }

  #told({ key, pod }: Attempt) {
    return { key, pod: shownPod(pod), args: this.#options.args }
  }

  async #ask(point: ExtensionPoint, request: PluginRequest): Promise<unknown> {
    const { host, breaker, cache } = this.#options
    const { name, deadlines } = host.description
    const deadline = deadlines[point] ?? (BINDING.has(point) ? IN_BINDING_MS : IN_CYCLE_MS)
    try {
      return await breaker.through(point, () => host.ask(request, cache.list, deadline))
    } catch (err) {
      if (err instanceof PluginError) throw err
      throw new PluginError(`plugin ${name}: ${point} failed: ${errorMessage(err)}`, false, { cause: err })
    }
  }
}

const amountOf = ({ cpu, memory, ephemeral, scalar }: Amounts, name: string): number =>
  name === "cpu" ? cpu : name === "memory" ? memory : name === "ephemeral-storage" ? ephemeral : (scalar.get(name) ?? 0)
