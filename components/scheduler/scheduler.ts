import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { storageClassOf } from "../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import { PodDisruptionBudget } from "../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { DeviceClass } from "../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../pkg/api/resource/v1/resourceslice.ts"
import { keyFrom, type Index } from "../../pkg/client/informer.ts"
import { CSINode } from "../../pkg/api/storage/v1/csinode.ts"
import { StorageClass } from "../../pkg/api/storage/v1/storageclass.ts"
import { VolumeAttachment } from "../../pkg/api/storage/v1/volumeattachment.ts"
import { traced, type Tracing } from "../../pkg/tracing/tracing.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import { SKIPPED } from "../../pkg/controller/guarded.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import { contain } from "../../pkg/failure/contain.ts"
import { freeDevices, reserveDevices, type DeviceReservation } from "./bind-devices.ts"
import { bindVolumes } from "./bind-volumes.ts"
import { ClaimWaits } from "./claim-waits.ts"
import { Cache } from "./cache.ts"
import { diagnosisMessage, type ClusterAction, type Diagnosis } from "./framework.ts"
import { nodeActions, podActions } from "./cluster-events.ts"
import { DeviceClaims } from "./dynamicresources/device-objects.ts"
import { evictVictim, type EvictionContext } from "./eviction.ts"
import { NodeVerdicts } from "./node-verdicts.ts"
import { Nominations } from "./nominations.ts"
import { dynamicResources } from "./plugins/dynamicresources.ts"
import { defaultPlugins, pluginsOf } from "./plugins/plugins.ts"
import type { VolumeObjects } from "./plugins/volumebinding.ts"
import { findVictims } from "./preemption.ts"
import { SchedulingQueue, type QueuedPod } from "./queue.ts"
import { writeUnschedulable } from "./refusal.ts"
import { findNode, type CycleContext } from "./schedule-one.ts"

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

export interface Scheduler extends Component {
  /** No pod is being scheduled and no binding is being written; pods may wait for events. */
  readonly idle: boolean
  /** Why a pod fits no node, from its last attempt; undefined when it was never refused. */
  diagnosis(pod: Pod): Diagnosis | undefined
}

/** The kinds that volume plugins depend on. */
const VOLUME_KINDS: readonly Resource[] = [
  PersistentVolumeClaim,
  PersistentVolume,
  StorageClass,
  CSINode,
  VolumeAttachment,
]

const volumesByClaim: Index<PersistentVolume> = {
  name: "claim",
  of: ({ spec: { claimRef } }) => (claimRef === undefined ? [] : [keyFrom(claimRef)]),
}
const freeVolumesByClass: Index<PersistentVolume> = {
  name: "free-by-class",
  of: (volume) => (volume.spec.claimRef === undefined ? [storageClassOf(volume)] : []),
}
const attachmentsByNode: Index<VolumeAttachment> = { name: "node", of: ({ spec }) => [spec.nodeName] }
/** The kinds that the plugin for devices depends on. */
const DEVICE_KINDS: readonly Resource[] = [ResourceClaim, ResourceSlice, DeviceClass]

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
  const volumes: VolumeObjects = {
    claim: (namespace, name) => informers.of(PersistentVolumeClaim).get(`${namespace}/${name}`),
    volume: (name) => informers.of(PersistentVolume).get(name),
    volumesFor(claim) {
      const known = informers.of(PersistentVolume)
      return [
        ...known.by(volumesByClaim, keyFrom(claim.metadata)),
        ...known.by(freeVolumesByClass, storageClassOf(claim)),
      ]
    },
    storageClass: (name) => informers.of(StorageClass).get(name),
    csiNode: (nodeName) => informers.of(CSINode).get(nodeName),
    attachments: (nodeName) => informers.of(VolumeAttachment).by(attachmentsByNode, nodeName),
  }
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
  let unsubscribe: (() => void)[] = []
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
    const find = () => traced(tracing, "Scheduling cycle", () => findNode(pod, cycle, startAt))
    const { outcome, looked } = place === undefined ? find() : place.while(keyFrom(pod.metadata), find)
    observer?.searched(clock.monotonic() - started)
    startAt = cache.list.length === 0 ? 0 : (startAt + looked) % cache.list.length
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
      observer?.attempted("error", clock.monotonic() - started)
      return inBackground(fail(queued, outcome.error))
    }
    const { diagnosis, plugins: refusing } = outcome
    diagnoses.set(pod.metadata.uid ?? "", diagnosis)
    observer?.attempted("unschedulable", clock.monotonic() - started)
    return inBackground(traced(tracing, "Refuse pod", () => refuse(queued, diagnosis, refusing)))
  }

  /** Whether work on the pod may end the process: then it waits for its trial, or is skipped until it is edited. */
  function isHeldBack(queued: QueuedPod): boolean {
    const { pod } = queued
    const fate = place?.fate(keyFrom(pod.metadata), () => editionOf(pod)) ?? "go"
    if (fate === "go") return false
    if (fate === "skip") events.event(pod, "Warning", "SetAside", SKIPPED("scheduler"))
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
      queue.moveOn("AssignedPod/Delete")
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
    moveOn(["Device/Change"])
  }

  /** Records why the pod fits no node, tries preemption where that helps, and puts the pod back into the queue. */
  async function refuse(queued: QueuedPod, diagnosis: Diagnosis, refusing: ReadonlySet<string>): Promise<void> {
    const { pod } = queued
    const budgets = informers.of(PodDisruptionBudget).list(pod.metadata.namespace)
    const preemption = findVictims(pod, diagnosis, cycle, budgets)
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
  const mine = (pod: Pod): boolean => pod.spec.schedulerName === name
  const waits = (pod: Pod): boolean => !pod.spec.nodeName && !isPodTerminal(pod) && mine(pod)
  const moveOn = (actions: readonly ClusterAction[]) => {
    for (const action of actions) queue.moveOn(action)
  }

  function podChanged(pod: Pod, old: Pod | undefined): void {
    if (waits(pod)) {
      if (pod.metadata.deletionTimestamp !== undefined) return dropWaiting(pod)
      if (old === undefined) queue.add(pod)
      else if (!cache.isAssumed(pod)) queue.update(pod, old)
      if (pod.status.nominatedNodeName && old?.status.nominatedNodeName !== pod.status.nominatedNodeName)
        nominations.nominate(pod, pod.status.nominatedNodeName)
      return
    }
    if (old !== undefined && waits(old)) dropWaiting(pod)
    if (pod.spec.nodeName) {
      cache.setPod(pod)
      moveOn(podActions(pod, old))
    }
  }

  function dropWaiting(pod: Pod): void {
    if (!cache.isAssumed(pod)) queue.delete(pod)
    diagnoses.delete(pod.metadata.uid ?? "")
    nominations.remove(pod)
  }

  function podGone(pod: Pod): void {
    if (waits(pod)) dropWaiting(pod)
    const counted = pod.spec.nodeName !== undefined && pod.spec.nodeName !== ""
    cache.forget(pod)
    if (counted) moveOn(["AssignedPod/Delete"])
  }

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
      unsubscribe = [
        nodes.on({
          added: (node) => {
            cache.setNode(node)
            moveOn(["Node/Add"])
          },
          updated: (node, old) => {
            cache.setNode(node)
            moveOn(nodeActions(node, old))
          },
          deleted: (node) => cache.removeNode(node.metadata.name ?? ""),
        }),
        pods.on({ added: (pod) => podChanged(pod, undefined), updated: podChanged, deleted: podGone }),
        ...VOLUME_KINDS.map((resource) =>
          informers
            .of(resource)
            .on({ added: () => moveOn(["Volume/Change"]), updated: () => moveOn(["Volume/Change"]) }),
        ),
        informers.of(VolumeAttachment).on({ deleted: () => moveOn(["Volume/Change"]) }),
      ]
      const devicesChanged = () => {
        queue.recheckGated()
        moveOn(["Device/Change"])
      }
      for (const resource of DEVICE_KINDS)
        unsubscribe.push(
          informers
            .of(resource)
            .on({ added: devicesChanged, updated: devicesChanged, deleted: () => moveOn(["Device/Change"]) }),
        )
      const classChanged = () => moveOn(["DeviceClass/Change"])
      unsubscribe.push(informers.of(DeviceClass).on({ added: classChanged, updated: classChanged }))
      stopping = new AbortController()
      running = true
      wake()
    },
    async stop() {
      running = false
      stopping.abort(new Error("the scheduler is being stopped"))
      for (const off of unsubscribe) off()
      claimWaits?.stop()
      unsubscribe = []
      queue.stop()
      await Promise.allSettled(underWay)
      await events.stop()
    },
  }
}
