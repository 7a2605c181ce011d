import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { Index } from "../../../pkg/client/informer.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

/**
 * What the Job controller reads of a pod. Source:
 * pkg/controller/job/{job_controller,indexed_job_utils,backoff_utils}.go.
 */

/** The finalizer of a pod that has not been counted yet. */
export const TRACKING = "batch.kubernetes.io/job-tracking"
export const COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
export const INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
export const INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"

export const isTracked = (pod: Pod): boolean => pod.metadata.finalizers?.includes(TRACKING) === true

/**
 * Pods with the finalizer, by the key of the Job in their controller reference. Pods without a controller have the key
 * `<namespace>/`.
 */
export const tracked: Index<Pod> = {
  name: "job-tracked",
  of(pod) {
    if (!isTracked(pod)) return []
    const owner = controllerOf(pod)
    return owner === undefined
      ? [`${pod.metadata.namespace}/`]
      : owner.kind === "Job"
        ? [`${pod.metadata.namespace}/${owner.name}`]
        : []
  },
}

/** Returns the pod's completion index; undefined if it has no valid one. */
export function completionIndex(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[COMPLETION_INDEX]
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text)
}

export const isIndexed = (job: Job): boolean => job.spec.completionMode === "Indexed"
export const isSuspended = (job: Job): boolean => job.spec.suspend === true
export const completionsOf = (job: Job): number => job.spec.completions ?? 0
/** Whether a pod is replaced only after it has failed, and not when its deletion begins. */
export const replacesFailedOnly = (job: Job): boolean =>
  job.spec.podReplacementPolicy === "Failed" || job.spec.podFailurePolicy !== undefined

/** A pod of an Indexed Job counts only with an index that the Job has. */
export function hasValidIndex(pod: Pod, job: Job): boolean {
  if (!isIndexed(job)) return true
  const index = completionIndex(pod)
  return index !== undefined && index < completionsOf(job)
}

export const isSucceeded = (pod: Pod): boolean => pod.status.phase === "Succeeded"

/**
 * Whether the pod has failed, or is being deleted without having succeeded: such a pod may never be marked as failed.
 * Jobs that replace failed pods only (`replacesFailedOnly`) wait for the mark.
 */
export const isFailed = (pod: Pod, job: Job): boolean =>
  pod.status.phase === "Failed" ||
  (!replacesFailedOnly(job) && pod.metadata.deletionTimestamp !== undefined && !isSucceeded(pod))

const countIn = (pod: Pod, annotation: string): number => {
  const text = pod.metadata.annotations?.[annotation]
  return text === undefined || !/^\d+$/.test(text) ? 0 : Number(text)
}
/** How many pods of this index failed before this one. */
export const indexFailures = (pod: Pod): number => countIn(pod, INDEX_FAILURES)
/** The number of ignored failures of this index before this pod. */
export const indexIgnoredFailures = (pod: Pod): number => countIn(pod, INDEX_IGNORED_FAILURES)

/**
 * Returns when the pod ended, in milliseconds: by its containers, its Ready condition, its deletion, or else its
 * creation.
 */
export function finishedAt(pod: Pod): number {
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = pod.status
  const sidecars = new Set(
    (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always").map(({ name }) => name),
  )
  const ends = [...containerStatuses, ...initContainerStatuses.filter(({ name }) => sidecars.has(name))].map(
    ({ state }) => state?.terminated?.finishedAt,
  )
  if (ends.length > 0 && ends.every((end) => typeof end === "string"))
    return largest(ends.map((end) => Date.parse(end)))
  const notReady = conditions.find(({ type, status }) => type === "Ready" && status === "False")?.lastTransitionTime
  if (notReady) return Date.parse(notReady)
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
  return creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp)
}
