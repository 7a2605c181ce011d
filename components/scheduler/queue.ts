import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Clock, Timer } from "../../pkg/clock/clock.ts"
import type { ClusterAction, Plugin, SortKey } from "./framework.ts"
import { PriorityQueue } from "./priority-queue.ts"
import type { QueuedPod } from "./queued-pod.ts"

/** How long a pod waits after it failed, in milliseconds. */
export interface Backoffs {
  /** The first wait; each further one is twice as long. Source: podInitialBackoffSeconds. */
  readonly initialMs: number
  /** Source: podMaxBackoffSeconds. */
  readonly maxMs: number
}
export const DEFAULT_BACKOFFS: Backoffs = { initialMs: 1000, maxMs: 10_000 }
/** Source: podMaxInUnschedulablePodsDuration. */
const LONGEST_UNSCHEDULABLE_MS = 300_000

/** What externals do with the queue; without them nothing of it costs. */
export interface QueueHooks {
  sortKey(pod: Pod): SortKey | undefined
  /** Called for each event of the cluster. */
  happened(action: ClusterAction): void
}

/** A pod that waits until a time of the monotonic clock, in milliseconds, or until something wakes it. */
interface Parked {
  readonly queued: QueuedPod
  readonly timer: Timer
  readonly until: number
}

/** Called when a pod comes into a part of the queue, with the event that brought it there. */
type QueueIncoming = (part: keyof SchedulingQueue["sizes"], event: string) => void

/** Names of events that are none of the cluster's. Source: pkg/scheduler/framework/events.go. */
const FAILURE = "ScheduleAttemptFailure"
const BACKOFF_COMPLETE = "BackoffComplete"
const TIMEOUT = "UnschedulableTimeout"
const POD_ADD = "UnschedulablePodAdd"
const POD_UPDATE = "UnschedulablePodUpdate"

/**
 * Pods waiting for a node. Source: pkg/scheduler/backend/queue/scheduling_queue.go. A pod is in one place at a time:
 *  - active:        to be scheduled next, by priority and then by age;
 *  - backoff:       failed and was woken; becomes active when its backoff has ended;
 *  - unschedulable: waits for an event that one of the plugins that refused it has registered for;
 *  - gated:         refused by a preEnqueue plugin, and not tried until all of them accept it;
 *  - in flight:     handed out by `pop`. Events meanwhile are kept, so that none is lost between the try and its
 *    failure.
 */
export class SchedulingQueue {
  private readonly active = new PriorityQueue()
  private readonly backoff = new Map<string, Parked>()
  private readonly unschedulable = new Map<string, Parked>()
  private readonly gated = new Map<string, QueuedPod>()
  private readonly inFlight = new Map<
    string,
    { readonly queued: QueuedPod; readonly events: Set<ClusterAction>; updated?: Pod; deleted?: boolean }
  >()
  private readonly clock: Clock
  private readonly pluginsFor: (pod: Pod) => readonly Plugin[]
  private readonly onActive: () => void
  private readonly backoffs: Backoffs
  private readonly hooks: QueueHooks | undefined
  private readonly incoming: QueueIncoming

  /** `pluginsFor` returns the plugins of the profile that schedules the pod. */
  constructor(
    clock: Clock,
    pluginsFor: (pod: Pod) => readonly Plugin[],
    onActive: () => void,
    backoffs: Backoffs = DEFAULT_BACKOFFS,
    hooks?: QueueHooks,
    incoming: QueueIncoming = () => {},
  ) {
    this.clock = clock
    this.pluginsFor = pluginsFor
    this.onActive = onActive
    this.backoffs = backoffs
    this.hooks = hooks
    this.incoming = incoming
  }

  /** The number of pods in each part of the queue. */
  get sizes(): {
    readonly active: number
    readonly backoff: number
    readonly unschedulable: number
    readonly gated: number
  } {
    return {
      active: this.active.size,
      backoff: this.backoff.size,
      unschedulable: this.unschedulable.size,
      gated: this.gated.size,
    }
  }

  add(pod: Pod): void {
    this.enter({ pod, added: this.clock.now(), attempts: 0, plugins: new Set() }, POD_ADD)
  }

  /**
   * Takes over a change of a waiting pod. A change of its spec or labels may make the pod schedulable, so it wakes the
   * pod.
   */
  update(pod: Pod, old: Pod): void {
    const uid = pod.metadata.uid ?? ""
    const flying = this.inFlight.get(uid)
    const relevant = pod.spec !== old.spec || pod.metadata.labels !== old.metadata.labels
    if (flying !== undefined) {
      flying.updated = pod
      if (relevant) flying.events.add("Pod/Update")
      return
    }
    if (this.active.replace(pod)) return
    const waiting = this.backoff.get(uid)
    if (waiting !== undefined) {
      waiting.queued.pod = pod
      return
    }
    const gated = this.gated.get(uid)
    if (gated !== undefined) {
      this.gated.delete(uid)
      return this.enter({ ...gated, pod }, POD_UPDATE)
    }
    const stuck = this.unschedulable.get(uid)
    if (stuck === undefined) return this.add(pod)
    stuck.queued.pod = pod
    if (relevant) this.wake(uid, stuck, POD_UPDATE)
  }

  delete(pod: Pod): void {
    const uid = pod.metadata.uid ?? ""
    const flying = this.inFlight.get(uid)
    if (flying !== undefined) flying.deleted = true
    this.active.remove(uid)
    this.backoff.get(uid)?.timer.cancel()
    this.backoff.delete(uid)
    this.unschedulable.get(uid)?.timer.cancel()
    this.unschedulable.delete(uid)
    this.gated.delete(uid)
  }

  /** Returns the next pod to schedule, which is in flight until `done` or `failed`. */
  pop(): QueuedPod | undefined {
    const queued = this.active.pop()
    if (queued === undefined) return undefined
    queued.attempts++
    this.inFlight.set(queued.pod.metadata.uid ?? "", { queued, events: new Set() })
    return queued
  }

  /**
   * Takes a pod out of its turn, as `pop` does: one that waits for its turn, its back-off or an event. Undefined for
   * others.
   */
  take(uid: string): QueuedPod | undefined {
    const parked = this.backoff.get(uid) ?? this.unschedulable.get(uid)
    const queued = parked?.queued ?? this.active.take(uid)
    if (queued === undefined) return undefined
    parked?.timer.cancel()
    this.backoff.delete(uid)
    this.unschedulable.delete(uid)
    queued.attempts++
    this.inFlight.set(uid, { queued, events: new Set() })
    return queued
  }

  /** Called when the pod was bound or is gone. */
  done(pod: Pod): void {
    this.inFlight.delete(pod.metadata.uid ?? "")
  }

  /** Called when an attempt failed: `plugins` refused the pod, or, if empty, an error occurred. */
  failed(queued: QueuedPod, plugins: ReadonlySet<string>): void {
    const uid = queued.pod.metadata.uid ?? ""
    const flying = this.inFlight.get(uid)
    this.inFlight.delete(uid)
    if (flying?.deleted === true) return
    queued.pod = flying?.updated ?? queued.pod
    queued.plugins = plugins
    const missed = [...(flying?.events ?? [])].some((action) => this.concerns(queued, action))
    if (plugins.size === 0 || missed) this.backOff(queued, FAILURE)
    else this.park(queued)
  }

  /**
   * Wakes the pods that an event may have made schedulable. `object` is what has changed; `may` says which pods can be
   * concerned, by default all.
   */
  moveAllToActiveOrBackoffQueue(
    action: ClusterAction,
    object?: unknown,
    may: (pod: Pod) => boolean = () => true,
  ): void {
    this.hooks?.happened(action)
    for (const { events } of this.inFlight.values()) events.add(action)
    for (const [uid, stuck] of this.unschedulable) {
      if (!may(stuck.queued.pod)) continue
      const { concerned, hint } = this.concernedBy(stuck.queued, action)
      if (concerned) this.wake(uid, stuck, labelOf(action))
      else
        hint?.(stuck.queued.pod, action, object, () => {
          if (this.unschedulable.get(uid) === stuck) this.wake(uid, stuck, labelOf(action))
        })
    }
  }

  /** Moves gated pods that no preEnqueue plugin refuses any more to the active queue: all of them, or the one. */
  recheckGated(only?: Pod): void {
    for (const [uid, queued] of only === undefined ? [...this.gated] : this.gatedOf(only)) {
      this.gated.delete(uid)
      this.enter(queued, POD_UPDATE)
    }
  }

  private gatedOf({ metadata: { uid = "" } }: Pod): readonly (readonly [string, QueuedPod])[] {
    const queued = this.gated.get(uid)
    return queued === undefined ? [] : [[uid, queued]]
  }

  stop(): void {
    for (const { timer } of [...this.backoff.values(), ...this.unschedulable.values()]) timer.cancel()
    this.backoff.clear()
    this.unschedulable.clear()
    this.gated.clear()
    this.active.clear()
  }

  private concerns(queued: QueuedPod, action: ClusterAction): boolean {
    const { concerned, hint } = this.concernedBy(queued, action)
    return concerned || hint !== undefined
  }

  /** Whether an event wakes the pod, or which plugin knows whether it does. */
  private concernedBy(
    queued: QueuedPod,
    action: ClusterAction,
  ): { readonly concerned: boolean; readonly hint?: Plugin["hint"] } {
    let hint: Plugin["hint"]
    for (const plugin of this.pluginsFor(queued.pod)) {
      if (!queued.plugins.has(plugin.name) || plugin.eventsToRegister?.includes(action) !== true) continue
      if (plugin.hint === undefined) return CONCERNED
      hint = plugin.hint
    }
    return hint === undefined ? UNCONCERNED : { concerned: false, hint }
  }

  private enter(queued: QueuedPod, event: string): void {
    const refused = this.pluginsFor(queued.pod).some(
      (plugin) => plugin.preEnqueue !== undefined && plugin.preEnqueue(queued.pod).code !== "Success",
    )
    if (refused) {
      this.gated.set(queued.pod.metadata.uid ?? "", queued)
      this.incoming("gated", event)
      return
    }
    this.active.push(queued, this.hooks?.sortKey(queued.pod))
    this.incoming("active", event)
    this.onActive()
  }

  private park(queued: QueuedPod): void {
    this.incoming("unschedulable", FAILURE)
    const uid = queued.pod.metadata.uid ?? ""
    // In case an event was missed, the pod is tried again now and then.
    const timer = this.clock.setTimeout(() => this.wakeOverdue(), LONGEST_UNSCHEDULABLE_MS)
    this.unschedulable.set(uid, { queued, timer, until: this.clock.monotonic() + LONGEST_UNSCHEDULABLE_MS })
  }

  /** Thousands of pods may have been refused at the same time, so the first timer stands for all of them. */
  private wakeOverdue(): void {
    for (const [uid, parked] of this.unschedulable)
      if (parked.until <= this.clock.monotonic()) this.wake(uid, parked, TIMEOUT)
  }

  private wake(uid: string, { queued, timer }: Parked, event: string): void {
    timer.cancel()
    this.unschedulable.delete(uid)
    this.backOff(queued, event)
  }

  /** Source: calculateBackoffDuration. */
  private backOff(queued: QueuedPod, event: string): void {
    this.incoming("backoff", event)
    const uid = queued.pod.metadata.uid ?? ""
    const wait = Math.min(this.backoffs.initialMs * 2 ** (queued.attempts - 1), this.backoffs.maxMs)
    const timer = this.clock.setTimeout(() => this.endBackoffs(), wait)
    this.backoff.set(uid, { queued, timer, until: this.clock.monotonic() + wait })
  }

  /** All pods whose backoff has ended become active together, so that priority orders them and not their timers. */
  private endBackoffs(): void {
    for (const [uid, { queued, timer, until }] of this.backoff) {
      if (until > this.clock.monotonic()) continue
      timer.cancel()
      this.backoff.delete(uid)
      this.enter(queued, BACKOFF_COMPLETE)
    }
  }
}

/** Returns the name of an event of the cluster in metrics: NodeAdd. */
const labelOf = (action: ClusterAction): string => action.replace("/", "")

const CONCERNED = { concerned: true }
const UNCONCERNED = { concerned: false }
