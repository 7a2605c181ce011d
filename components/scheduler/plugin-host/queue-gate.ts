import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { SUCCESS, unresolvable, type ClusterAction, type SortKey, type Status } from "../framework.ts"
import type { PluginError } from "./plugin-host.ts"

export interface QueueGateOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Returns why the pod may not enter the queue; undefined where it may. */
  preEnqueue(pod: Pod): Promise<Status | undefined>
  /** Returns what orders the queue; undefined where the plugin does not. */
  sortKey(pod: Pod): Promise<SortKey | undefined>
  /** Whether the plugin asks again after the event. */
  registers(action: ClusterAction): boolean
  /** Whether a pod may enter where the plugin fails. */
  isIgnorable(): boolean
  /** Has the queue look at the pod again, or at all that it holds back. */
  recheck(pod?: Pod): void
}

interface Entry {
  status: Status
  key?: SortKey | undefined
  /** The number of events when the plugin was asked. */
  epoch: number
  /** Whether the plugin lets the pod in, and the queue does not know yet. */
  isNew: boolean
}

const ASKING = unresolvable("waiting for the answer of a scheduler plugin")
/** Held-back pods are looked at again this long after an event, all together; and after a failure, in milliseconds. */
const AFTER_EVENT_MS = 1000
const AFTER_FAILURE_MS = 5000

/**
 * Holds pods back from the queue until a plugin has said whether they may enter it, and in what order: the queue itself
 * cannot wait. Nothing is kept of a pod that is gone.
 */
export class QueueGate {
  readonly #options: QueueGateOptions
  readonly #entries = new WeakMap<Pod, Entry>()
  #epoch = 0
  /** Pods that were refused since the last look, and those about which the plugin has not answered yet. */
  #refused = 0
  #asking = 0
  #timer: Timer | undefined

  constructor(options: QueueGateOptions) {
    this.#options = options
  }

  check(pod: Pod): Status {
    const known = this.#entries.get(pod)
    if (known !== undefined && (known.status === ASKING || known.isNew || known.epoch === this.#epoch)) {
      known.isNew = false
      return known.status
    }
    const entry: Entry = { status: ASKING, epoch: this.#epoch, isNew: false }
    this.#entries.set(pod, entry)
    void this.#ask(pod, entry)
    return entry.status
  }

  sortKey(pod: Pod): SortKey | undefined {
    return this.#entries.get(pod)?.key
  }

  happened(action: ClusterAction): void {
    if ((this.#refused === 0 && this.#asking === 0) || !this.#options.registers(action)) return
    this.#epoch++
    this.#lookAgain(AFTER_EVENT_MS)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #ask(pod: Pod, entry: Entry): Promise<void> {
    const { preEnqueue, sortKey, isIgnorable, recheck, log } = this.#options
    this.#asking++
    const [verdict, key] = await Promise.allSettled([preEnqueue(pod), sortKey(pod)])
    this.#asking--
    for (const { reason } of [verdict, key].filter((one) => one.status === "rejected"))
      log.warn("A scheduler plugin failed for a pod that enters the queue", { err: reason as PluginError })
    // A pod without a key has the order of the others.
    entry.key = key.status === "fulfilled" ? key.value : undefined
    if (verdict.status === "fulfilled") entry.status = verdict.value ?? SUCCESS
    else if (isIgnorable()) entry.status = SUCCESS
    else {
      entry.status = unresolvable((verdict.reason as Error).message)
      entry.epoch = -1
      this.#refused++
      this.#lookAgain(AFTER_FAILURE_MS)
      return
    }
    if (entry.status.code !== "Success") {
      this.#refused++
      // The answer may be older than an event that came meanwhile.
      if (entry.epoch !== this.#epoch) this.#lookAgain(AFTER_EVENT_MS)
      return
    }
    entry.isNew = true
    recheck(pod)
  }

  /** One look serves thousands of pods, and many events. */
  #lookAgain(ms: number): void {
    this.#timer ??= this.#options.clock.setTimeout(() => {
      this.#timer = undefined
      this.#refused = 0
      this.#epoch++
      this.#options.recheck()
    }, ms)
  }
}
