import { scaledValue } from "../../../pkg/apimachinery/scalars/intstr.ts"
import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { isPodAvailable, isPodReady, isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerRef } from "../../../pkg/controller/owned.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { CreationPace } from "../creation-pace.ts"
import { slowStart } from "../pod-control/pod-control.ts"
import { templateOf, type History } from "../revisions.ts"
import { hasStaleClaim, setClaimOwners } from "./claim-owners.ts"
import { createMissingClaims } from "./claims.ts"
import {
  ordinalOf,
  podName,
  POD_INDEX_LABEL,
  POD_NAME_LABEL,
  revisionOf,
  startOrdinal,
  templateFor,
} from "./identity.ts"
import { failed } from "./failed.ts"

/** Most pods created at once; the rest follow when the informer shows these. Source: MaxBatchSize. */
const BURST = 500

/**
 * The input of one round: the pods that exist, and the revisions. `spec.replicas` may be 2,147,483,647, so nothing here
 * has an element for each pod that should exist.
 */
export interface Round {
  readonly set: StatefulSet
  /** The pods to keep by ordinal, the lowest first. */
  readonly kept: ReadonlyMap<number, Pod>
  /** The pods to delete, highest ordinal first. */
  readonly condemned: readonly Pod[]
  /** The revision of the pods that are not updated yet. */
  readonly current: History["update"]
  readonly update: History["update"]
}

/**
 * Does one round, and returns how many pods of an old revision were deleted to be replaced. Source of the steps:
 * updateStatefulSet in pkg/controller/statefulset/stateful_set_control.go.
 */
export async function takeSteps(round: Round, pace: CreationPace, context: ReconcileContext): Promise<number> {
  const { set, condemned } = round
  const parallel = set.spec.podManagementPolicy === "Parallel"
  if (parallel) await keepInParallel(round, pace, context)
  else if (!(await keepInOrder(round, pace, context))) return 0
  for (const pod of condemned) await setClaimOwners(set, pod, ordinalOf(pod, set)!, context)
  if (parallel) throwFailure(await Promise.allSettled(condemned.map((pod) => condemn(round, pod, context))))
  else for (const pod of condemned) if (!(await condemn(round, pod, context))) return 0
  return set.spec.updateStrategy.type === "OnDelete" ? 0 : replaceOld(round, context)
}

/** Keeps one pod after the other, and returns false at the first that is missing or not available. */
async function keepInOrder(round: Round, pace: CreationPace, context: ReconcileContext): Promise<boolean> {
  const { set, kept } = round
  const start = startOrdinal(set)
  for (let ordinal = start; ordinal < start + set.spec.replicas; ordinal++) {
    const pod = kept.get(ordinal)
    if (pod !== undefined && (await keepReplica(set, pod, ordinal, context))) continue
    if (pod === undefined && !hasStaleClaim(set, ordinal, context)) {
      await createPod(round, ordinal, context)
      pace.made(set)
    }
    return false
  }
  return true
}

/** Keeps the pods that exist, and creates missing ones, those with the lowest ordinals first. */
async function keepInParallel(round: Round, pace: CreationPace, context: ReconcileContext): Promise<void> {
  const { set, kept } = round
  const keeping = await Promise.allSettled([...kept].map(([ordinal, pod]) => keepReplica(set, pod, ordinal, context)))
  const missing = missingOrdinals(round, context)
  const { succeeded, failure } = await slowStart(missing.length, () => createPod(round, missing.shift()!, context))
  pace.made(set, succeeded)
  throwFailure(keeping)
  if (failure !== undefined) throw failure
}

/** Returns the lowest ordinals without a pod, at most `BURST`, that no claim of an earlier pod keeps waiting. */
function missingOrdinals({ set, kept }: Round, context: ReconcileContext): number[] {
  const missing: number[] = []
  const start = startOrdinal(set)
  if (kept.size === set.spec.replicas) return missing
  for (let ordinal = start; ordinal < start + set.spec.replicas && missing.length < BURST; ordinal++)
    if (!kept.has(ordinal) && !hasStaleClaim(set, ordinal, context)) missing.push(ordinal)
  return missing
}

/** Throws the first error. */
function throwFailure(results: readonly PromiseSettledResult<unknown>[]): void {
  const failed = results.find((result) => result.status === "rejected")
  if (failed !== undefined) throw failed.reason
}

const isAvailable = (set: StatefulSet, pod: Pod, now: number): boolean =>
  pod.status.phase === "Running" && isPodReady(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)

const isUnavailable = (set: StatefulSet, pod: Pod, now: number): boolean =>
  pod.metadata.deletionTimestamp !== undefined || !isAvailable(set, pod, now)

/** Replaces a pod that has ended. Returns whether the pod is available, or the set does not wait for that. */
async function keepReplica(set: StatefulSet, pod: Pod, ordinal: number, context: ReconcileContext): Promise<boolean> {
  if (isPodTerminal(pod)) {
    if (pod.metadata.deletionTimestamp === undefined) await deletePod(set, pod, context)
    return false
  }
  if (pod.status.phase === "Pending") {
    await createMissingClaims(set, ordinal, context)
    await setClaimOwners(set, pod, ordinal, context, true)
  }
  if (
    set.spec.podManagementPolicy !== "Parallel" &&
    (pod.metadata.deletionTimestamp !== undefined || !isAvailable(set, pod, context.clock.now()))
  )
    return false
  await setClaimOwners(set, pod, ordinal, context)
  const labels = { [POD_NAME_LABEL]: podName(set, ordinal), [POD_INDEX_LABEL]: String(ordinal) }
  if (pod.metadata.labels?.[POD_NAME_LABEL] !== labels[POD_NAME_LABEL]) {
    const metadata = { ...pod.metadata, labels: { ...pod.metadata.labels, ...labels } }
    await context.client.update(Pod, { ...pod, metadata })
  }
  return true
}

/**
 * Deletes a pod beyond the wanted number; with ordered pod management only when all pods before it are healthy, or it
 * is the first unhealthy one.
 */
async function condemn({ set, kept, condemned }: Round, pod: Pod, context: ReconcileContext): Promise<boolean> {
  const parallel = set.spec.podManagementPolicy === "Parallel"
  if (pod.metadata.deletionTimestamp !== undefined) return parallel
  const now = context.clock.now()
  const isWell = (other: Pod): boolean => !isUnavailable(set, other, now)
  if (!parallel && !isWell(pod)) {
    const allKept = kept.size === set.spec.replicas && [...kept.values()].every(isWell)
    const firstUnwell = allKept ? condemned.findLast((other) => !isWell(other)) : undefined
    if (firstUnwell !== pod) return false
  }
  await deletePod(set, pod, context)
  return false
}

/**
 * Deletes pods of an old revision from the highest ordinal down to the partition, and returns how many. Without
 * maxUnavailable one is deleted at a time, and none while a pod above it is missing; with it as many as keep at most
 * maxUnavailable pods unavailable. Source: updateStatefulSet, updateStatefulSetAfterInvariantEstablished.
 */
async function replaceOld({ set, kept, update }: Round, context: ReconcileContext): Promise<number> {
  const { partition = 0, maxUnavailable } = set.spec.updateStrategy.rollingUpdate ?? {}
  const { replicas } = set.spec
  const now = context.clock.now()
  const isMissing = (pod: Pod): boolean => isUnavailable(set, pod, now)
  const available = [...kept.values()].filter((pod) => !isMissing(pod)).length
  const room =
    maxUnavailable === undefined
      ? 1
      : Math.max(1, scaledValue(maxUnavailable, replicas, "down")) - (replicas - available)
  let deleted = 0
  let next = startOrdinal(set) + replicas - 1
  for (const [ordinal, pod] of [...kept].reverse()) {
    if (deleted >= room || ordinal < startOrdinal(set) + partition) break
    // Without maxUnavailable an ordinal above that has no pod is waited for.
    if (maxUnavailable === undefined && ordinal !== next) break
    next = ordinal - 1
    if (pod.metadata.deletionTimestamp === undefined && revisionOf(pod) !== update.metadata.name) {
      await deletePod(set, pod, context)
      deleted++
    } else if (maxUnavailable === undefined && isMissing(pod)) break
  }
  return deleted
}

async function createPod({ set, current, update }: Round, ordinal: number, context: ReconcileContext): Promise<void> {
  const { client, events } = context
  const { type, rollingUpdate } = set.spec.updateStrategy
  const keptOld = rollingUpdate === undefined ? (set.status.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0)
  const revision = type === "RollingUpdate" && ordinal < startOrdinal(set) + keptOld ? current : update
  await createMissingClaims(set, ordinal, context)
  await setClaimOwners(set, undefined, ordinal, context, true)
  const { metadata, spec } = templateFor(set, templateOf(revision), revision.metadata.name ?? "", ordinal)
  const message = `Create Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name}`
  try {
    const { labels, annotations, finalizers } = metadata
    await client.create(Pod, {
      metadata: {
        name: podName(set, ordinal),
        namespace: set.metadata.namespace,
        labels,
        annotations,
        finalizers,
        ownerReferences: [controllerRef(set)],
      },
      spec,
    })
    events.event(set, "Normal", "SuccessfulCreate", `${message} successful`)
  } catch (err) {
    throw failed(set, "FailedCreate", message, err, context)
  }
}

async function deletePod(set: StatefulSet, pod: Pod, context: ReconcileContext): Promise<void> {
  const { client, events } = context
  const message = `Delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
  try {
    await client.delete(Pod, pod.metadata, {
      preconditions: pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid },
    })
    events.event(set, "Normal", "SuccessfulDelete", `${message} successful`)
  } catch (err) {
    if (isNotFound(err)) return
    throw failed(set, "FailedDelete", message, err, context)
  }
}
