import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import { traced, type Tracing } from "../../pkg/tracing/tracing.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import { skippedBy } from "../../pkg/quarantine/seam.ts"
import { contain } from "../../pkg/failure/contain.ts"
import { freeDevices, reserveDevices, type DeviceReservation } from "./bind-devices.ts"
import { bindVolumes } from "./bind-volumes.ts"
import { ClaimWaits } from "./claim-waits.ts"
import { Cache } from "./cache.ts"
import { diagnosisMessage, type Diagnosis } from "./framework.ts"
import { DeviceClaims } from "./dynamicresources/device-objects.ts"
import { DEVICE_KINDS, followObjects } from "./event-handlers.ts"
import { evictVictim, type EvictionContext } from "./eviction.ts"
import { NodeVerdicts } from "./node-verdicts.ts"
import { Nominations } from "./nominations.ts"
import { dynamicResources } from "./plugins/dynamicresources.ts"
import { defaultPlugins, pluginsOf } from "./plugins/plugins.ts"
import { findVictims } from "./preemption.ts"
import { SchedulingQueue, type QueuedPod } from "./queue.ts"
import { writeUnschedulable } from "./refusal.ts"
import { findNode, type CycleContext, type Outcome } from "./schedule-one.ts"
import { VOLUME_KINDS, volumeObjects } from "./volume-objects.ts"

export interface SchedulerConfig {
  /** The schedulerName of the pods to schedule; default-scheduler unless given. */
  readonly name?: string
  readonly observer?: SchedulerObserver
}

/** Receives what the scheduler reports for metrics. */
export interface SchedulerObserver {
  /** Called after each scheduling attempt, with its result and duration. */
  attempted(result: "scheduled" | "unschedulable" | "error", milliseconds: number): void
  /** Called after each search for a node, with its duration. */
  searched(milliseconds: number): void
  /** Called when a pod was bound, with the number of attempts and the time since it was first in the queue. */
  placed(tries: number, milliseconds: number): void
  /** Called with the number of pods in each queue. Source: scheduler_pending_pods. */
  pending(sizes: SchedulingQueue["sizes"]): void
}

/** A pod that fits no node, and what preemption can do about it. */
type Refused = Extract<Outcome, { readonly diagnosis: Diagnosis }> & {
  readonly preemption: ReturnType<typeof findVictims>
}
type Decision = Exclude<Outcome, { readonly diagnosis: Diagnosis }> | Refused

export interface Scheduler extends Component {
  /** No pod is being scheduled and no binding is being written; pods may wait for events. */
  readonly idle: boolean
  /** Why a pod fits no node, from its last attempt; undefined when it was never refused. */
  diagnosis(pod: Pod): Diagnosis | undefined
}

/**
 * Most scheduling decisions in one turn of the event loop, so that other components get theirs. The bindings of a turn
 * share one commit. More would be no faster: all that follows from them goes on at the same time, and is in memory
 * together.
 */
const DECISIONS_PER_TURN = 25

/** Binds pods to nodes. Source: pkg/scheduler/scheduler.go, schedule_one.go, eventhandlers.go. */
export function createScheduler(
  context: ComponentContext,
  { name = "default-scheduler", observer }: SchedulerConfig = {},
): Scheduler {
  const { client, informers, clock, random } = context
  const tracing = context.tracing?.of("kube-scheduler")
  const log = context.log.child({ component: "scheduler" })
  const place = context.quarantine?.place("scheduler")
  const events = createEventRecorder({ client, clock, log }, name)
  const cache = new Cache()
  const volumes = volumeObjects(informers)
  const claims = new DeviceClaims(informers)
  const devices = dynamicResources(claims, { clock, random })
  const plugins = defaultPlugins(
    cache.images,
    (name) => informers.of(Namespace).get(name)?.metadata.labels,
    volumes,
    devices,
  )
  const nominations = new Nominations()
  const cycle: CycleContext = { cache, plugins, verdicts: new NodeVerdicts(plugins), random, nominations }
  const eviction: EvictionContext = { client, clock, events, log, name }
  const queue = new SchedulingQueue(clock, pluginsOf(plugins), () => wake())
  const diagnoses = new Map<string, Diagnosis>()
  /** Bindings and refusals that are being written. */
  const underWay = new Set<Promise<void>>()
  let unsubscribe = (): void => undefined
  /** Notifies bindings of changes of their claims; undefined before the first start. */
  let claimWaits: ClaimWaits | undefined
  /** Aborts bindings that wait for volumes when the scheduler stops. */
  let stopping = new AbortController()
  let running = false
  let awake = false
  let startAt = 0

  function wake(): void {
    if (awake || !running) return
    awake = true
    clock.afterTurn(work)
  }

  function work(): void {
    awake = false
    for (let i = 0; running && i < DECISIONS_PER_TURN; i++) {
      const queued = queue.pop()
      if (queued === undefined) {
        observer?.pending(queue.sizes)
        return
      }
      try {
        if (tracing === undefined) void scheduleOne(queued)
        else scheduleTraced(queued, tracing)
      } catch (err) {
        // The one pod is tried again after its back-off; the next one has its turn.
        const { namespace, name } = queued.pod.metadata
        contain("scheduling", err, log, { pod: `${namespace}/${name}` })
        observer?.attempted("error", 0)
        if (cache.isAssumed(queued.pod)) cache.forget(queued.pod)
        queue.failed(queued, new Set())
      }
    }
    observer?.pending(queue.sizes)
    wake()
  }

  /** Schedules a pod as part of the trace of what made it, or changed it last. */
  function scheduleTraced(queued: QueuedPod, tracing: Tracing): void {
    const { namespace, name, uid, resourceVersion } = queued.pod.metadata
    const cause = tracing.causes.of(resourceVersion)
    const span = tracing.root("Schedule pod", {
      causes: cause === undefined ? [] : [cause],
      attributes: { "k8s.pod.uid": uid, "k8s.namespace.name": namespace, "k8s.pod.name": name },
    })
    // Ends with what is written in the background, if anything is.
    const writing = tracing.within(span, () => scheduleOne(queued))
    if (writing === undefined) span.end()
    else void writing.finally(() => span.end())
  }

  /** Returns what is written in the background; undefined for nothing. */
  function scheduleOne(queued: QueuedPod): Promise<void> | undefined {
    const { pod } = queued
    if (pod.metadata.deletionTimestamp !== undefined || cache.isAssumed(pod)) {
      queue.done(pod)
      return undefined
    }
    const started = clock.monotonic()
    if (isHeldBack(queued)) return undefined
    const outcome = place === undefined ? decide(pod) : place.while(keyFrom(pod.metadata), () => decide(pod))
    if ("node" in outcome) {
      let reservation: DeviceReservation | undefined
      try {
        const tools = { client, clock, events, waits: claimWaits!, signal: stopping.signal }
        reservation = reserveDevices(pod, cache.get(outcome.node)!, devices, claims, tools)
      } catch (err) {
        log.warn("Reserving devices failed; will retry", { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, err })
        queue.failed(queued, new Set())
        return undefined
      }
      cache.assume(pod, outcome.node)
      diagnoses.delete(pod.metadata.uid ?? "")
      const { node } = outcome
      return inBackground(
        traced(tracing, "Binding cycle", () => bind(queued, node, started, reservation), { "k8s.node.name": node }),
      )
    }
    if ("error" in outcome) {
      diagnoses.delete(pod.metadata.uid ?? "")
      observer?.attempted("error", clock.monotonic() - started)
      return inBackground(fail(queued, outcome.error))
    }
    diagnoses.set(pod.metadata.uid ?? "", outcome.diagnosis)
    observer?.attempted("unschedulable", clock.monotonic() - started)
    return inBackground(traced(tracing, "Refuse pod", () => refuse(queued, outcome)))
  }

  /** Finds a node for the pod, or the pods whose end makes room for it. */
  function decide(pod: Pod): Decision {
    const started = clock.monotonic()
    const { outcome, looked } = traced(tracing, "Scheduling cycle", () => findNode(pod, cycle, startAt))
    observer?.searched(clock.monotonic() - started)
    startAt = cache.list.length === 0 ? 0 : (startAt + looked) % cache.list.length
    if (!("diagnosis" in outcome)) return outcome
    const budgets = informers.of(PodDisruptionBudget).list(pod.metadata.namespace)
    return { ...outcome, preemption: findVictims(pod, outcome.diagnosis, cycle, budgets) }
  }

  /** Whether work on the pod may end the process: then it waits for its trial, or is skipped until it is edited. */
  function isHeldBack(queued: QueuedPod): boolean {
    const { pod } = queued
    const fate = place?.fate(keyFrom(pod.metadata), () => editionOf(pod)) ?? "go"
    if (fate === "go") return false
    if (fate === "skip") events.event(pod, "Warning", "SetAside", skippedBy("scheduler"))
    queue.failed(queued, new Set())
    return true
  }

  async function bind(
    queued: QueuedPod,
    node: string,
    started: number,
    reservation: DeviceReservation | undefined,
  ): Promise<void> {
    const { pod } = queued
    try {
      const claimsBound = bindVolumes(pod, node, volumes, context, claimWaits!, stopping.signal)
      if (claimsBound !== undefined) await claimsBound
      if (reservation !== undefined) await reservation.write()
      await client.createSubresource(Pod, pod.metadata, "binding", {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: pod.metadata.name, namespace: pod.metadata.namespace, uid: pod.metadata.uid },
        target: { kind: "Node", name: node },
      })
      queue.done(pod)
      observer?.attempted("scheduled", clock.monotonic() - started)
      observer?.placed(queued.attempts, clock.now() - queued.added)
      nominations.remove(pod)
      events.event(
        pod,
        "Normal",
        "Scheduled",
        `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${node}`,
      )
    } catch (err) {
      // Where another scheduler has bound the pod meanwhile, the cache has it on its node already.
      if (cache.isAssumed(pod)) cache.forget(pod)
      if (reservation !== undefined) await release(pod, reservation)
      // A pod that is gone or bound is not tried again. Any other one is, whatever the error was. Source: upstream
      // schedule_one.go handleSchedulingFailure.
      if (!running || (isNotFound(err) && isGone(pod)) || isBound(pod)) return queue.done(pod)
      observer?.attempted("error", clock.monotonic() - started)
      log.warn("Binding failed; will retry", { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, node, err })
      queue.failed(queued, new Set())
      // Other pods may have been refused because of a pod that is not there after all.
      queue.moveAllToActiveOrBackoffQueue("AssignedPod/Delete")
    }
  }

  async function release(pod: Pod, reservation: DeviceReservation): Promise<void> {
    try {
      await reservation.release()
    } catch (err) {
      // The resourceclaim controller removes deleted pods from claims; a pod that is tried again is still reserved on
      // its claim.
      if (running && !isNotFound(err))
        log.warn("Failed to remove a pod from reservedFor of its claims", {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          err,
        })
    }
    queue.moveAllToActiveOrBackoffQueue("Device/Change")
  }

  /** Records why the pod fits no node, deletes the pods that preemption has found, and queues the pod again. */
  async function refuse(queued: QueuedPod, { diagnosis, plugins: refusing, preemption }: Refused): Promise<void> {
    const { pod } = queued
    const message = diagnosisMessage(diagnosis, "message" in preemption ? preemption.message : "")
    const node = "candidate" in preemption ? preemption.candidate.node : undefined
    events.event(pod, "Warning", "FailedScheduling", message)
    try {
      if ("candidate" in preemption) {
        const { node, victims } = preemption.candidate
        nominations.nominate(pod, node)
        for (const victim of victims) await evictVictim(victim, pod, node, eviction)
      }
      await writeUnschedulable(pod, message, node, context)
      if (refusing.has(devices.name)) await freeDevices(pod, cache.list, claims, { client, clock })
    } catch (err) {
      if (running && !isNotFound(err))
        log.warn("Failed to preempt pods for a pod, or to write why it was not scheduled", {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          err,
        })
    }
    if (running) queue.failed(queued, refusing)
  }

  /** Records that a plugin failed for the pod, and tries the pod again later. */
  async function fail(queued: QueuedPod, message: string): Promise<void> {
    const { pod } = queued
    events.event(pod, "Warning", "FailedScheduling", message)
    try {
      await writeUnschedulable(pod, message, undefined, context, "SchedulerError")
    } catch (err) {
      if (running && !isNotFound(err))
        log.warn("Failed to write why a pod was not scheduled", {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          err,
        })
    }
    if (running) queue.failed(queued, new Set())
  }

  function inBackground(task: Promise<void>): Promise<void> {
    underWay.add(task)
    void task.finally(() => underWay.delete(task))
    return task
  }

  const isGone = ({ metadata }: Pod): boolean => informers.of(Pod).get(keyFrom(metadata))?.metadata.uid !== metadata.uid
  const isBound = ({ metadata }: Pod): boolean => !!informers.of(Pod).get(keyFrom(metadata))?.spec.nodeName
  return {
    name: "scheduler",
    get idle() {
      return queue.sizes.active === 0 && underWay.size === 0 && !awake
    },
    problem: () => (running ? undefined : "it is not running"),
    diagnosis: (pod) => diagnoses.get(pod.metadata.uid ?? ""),
    async start(signal) {
      const [nodes, pods, budgets] = [informers.of(Node), informers.of(Pod), informers.of(PodDisruptionBudget)]
      await Promise.all([
        nodes.whenSynced(),
        pods.whenSynced(),
        budgets.whenSynced(),
        informers.of(Namespace).whenSynced(),
        ...[...VOLUME_KINDS, ...DEVICE_KINDS].map((resource) => informers.of(resource).whenSynced()),
      ])
      signal.throwIfAborted()
      claimWaits = new ClaimWaits(informers)
      unsubscribe = followObjects({ informers, name, cache, queue, nominations, diagnoses })
      stopping = new AbortController()
      running = true
      wake()
    },
    async stop() {
      running = false
      stopping.abort(new Error("the scheduler is being stopped"))
      unsubscribe()
      claimWaits?.stop()
      queue.stop()
      await Promise.allSettled(underWay)
      await events.stop()
    },
  }
}
