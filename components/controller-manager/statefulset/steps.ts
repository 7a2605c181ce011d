import { scaledValue } from "../../../pkg/apimachinery/scalars/intstr.ts"
import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { isPodAvailable, isPodReady, isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerRef } from "../../../pkg/controller/owned.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { CreationPace } from "../creation-pace.ts"
import { templateOf, type History } from "../revisions.ts"
import { createMissingClaims, hasStaleClaim, setClaimOwners } from "./claims.ts"
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

/** The input of one round: the pods that should exist, those that should be deleted, and the revisions. */
export interface Round {
  readonly set: StatefulSet
  /** By ordinal, from the first; undefined when the pod does not exist. */
  readonly replicas: readonly (Pod | undefined)[]
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
  const { set, replicas, condemned } = round
  const start = startOrdinal(set)
  const parallel = set.spec.podManagementPolicy === "Parallel"
  if (
    !(await each(
      replicas.map((pod, i) => () => keepReplica(round, pod, start + i, pace, context)),
      parallel,
    ))
  )
    return 0
  for (const pod of condemned) await setClaimOwners(set, pod, ordinalOf(pod, set)!, context)
  if (
    !(await each(
      condemned.map((pod) => () => condemn(round, pod, context)),
      parallel,
    ))
  )
    return 0
  return set.spec.updateStrategy.type === "OnDelete" ? 0 : replaceOld(round, context)
}

/**
 * Runs steps, each of which returns whether the next may follow. With ordered pod management the first false ends the
 * round; in parallel only an error does.
 */
async function each(steps: readonly (() => Promise<boolean>)[], parallel: boolean): Promise<boolean> {
  if (parallel) {
    const failed = (await Promise.allSettled(steps.map((step) => step()))).find(
      (result) => result.status === "rejected",
    )
    if (failed !== undefined) throw failed.reason
    return true
  }
  for (const step of steps) if (!(await step())) return false
  return true
}

const isAvailable = (set: StatefulSet, pod: Pod, now: number): boolean =>
  pod.status.phase === "Running" && isPodReady(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)

/** Creates a missing pod and replaces one that has ended. Returns whether the pod is available. */
async function keepReplica(
  round: Round,
  pod: Pod | undefined,
  ordinal: number,
  pace: CreationPace,
  context: ReconcileContext,
): Promise<boolean> {
  const { set } = round
  if (pod === undefined) {
    if (!hasStaleClaim(set, ordinal, context)) {
      await createPod(round, ordinal, context)
      pace.made(set)
    }
    return false
  }
  if (isPodTerminal(pod)) {
    if (pod.metadata.deletionTimestamp === undefined) await deletePod(set, pod, context)
    return false
  }
  if (pod.status.phase === "Pending") await createMissingClaims(set, ordinal, context)
  if (
    set.spec.podManagementPolicy !== "Parallel" &&
    (pod.metadata.deletionTimestamp !== undefined || !isAvailable(set, pod, context.clock.now()))
  )
    return false
  await setClaimOwners(set, pod, ordinal, context)
  const labels = { [POD_NAME_LABEL]: podName(set, ordinal), [POD_INDEX_LABEL]: String(ordinal) }
  if (pod.metadata.labels?.[POD_NAME_LABEL] !== labels[POD_NAME_LABEL]) {
    await context.client.patch(Pod, pod.metadata, {
      type: "merge",
      body: { metadata: { uid: pod.metadata.uid, labels } },
    })
  }
  return true
}

/**
 * Deletes a pod beyond the wanted number; with ordered pod management only when all pods before it are healthy, or it
 * is the first unhealthy one.
 */
async function condemn({ set, replicas, condemned }: Round, pod: Pod, context: ReconcileContext): Promise<boolean> {
  const parallel = set.spec.podManagementPolicy === "Parallel"
  if (pod.metadata.deletionTimestamp !== undefined) return parallel
  const now = context.clock.now()
  const isWell = (other: Pod | undefined): boolean =>
    other !== undefined && other.metadata.deletionTimestamp === undefined && isAvailable(set, other, now)
  if (!parallel && !isWell(pod)) {
    const firstUnwell = replicas.some((other) => !isWell(other))
      ? undefined
      : condemned.findLast((other) => !isWell(other))
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
async function replaceOld({ set, replicas, update }: Round, context: ReconcileContext): Promise<number> {
  const { partition = 0, maxUnavailable } = set.spec.updateStrategy.rollingUpdate ?? {}
  const now = context.clock.now()
  const isMissing = (pod: Pod | undefined): boolean =>
    pod === undefined || pod.metadata.deletionTimestamp !== undefined || !isAvailable(set, pod, now)
  const room =
    maxUnavailable === undefined
      ? 1
      : Math.max(1, scaledValue(maxUnavailable, replicas.length, "down")) - replicas.filter(isMissing).length
  let deleted = 0
  for (let i = replicas.length - 1; i >= partition && deleted < room; i--) {
    const pod = replicas[i]
    const isOld =
      pod !== undefined && pod.metadata.deletionTimestamp === undefined && revisionOf(pod) !== update.metadata.name
    if (isOld) {
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
  const { metadata, spec } = templateFor(set, templateOf(revision), revision.metadata.name ?? "", ordinal)
  const told = `create Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name}`
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
    events.event(set, "Normal", "SuccessfulCreate", `${told} successful`)
  } catch (err) {
    throw failed(set, "FailedCreate", told, err, context)
  }
}

async function deletePod(set: StatefulSet, pod: Pod, context: ReconcileContext): Promise<void> {
  const { client, events } = context
  const told = `delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
  try {
    await client.delete(Pod, pod.metadata, {
      preconditions: pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid },
    })
    events.event(set, "Normal", "SuccessfulDelete", `${told} successful`)
  } catch (err) {
    if (isNotFound(err)) return
    throw failed(set, "FailedDelete", told, err, context)
  }
}
