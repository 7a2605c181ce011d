import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { untilRetry } from "./backoff.ts"
import { judgeFailure } from "./failure-policy.ts"
import { hasIndex, parseIndexes, union, withIndexes, type Indexes } from "./indexes.ts"
import {
  completionIndex,
  completionsOf,
  finishedAt,
  hasValidIndex,
  INDEX_FAILURES,
  INDEX_IGNORED_FAILURES,
  indexFailures,
  indexIgnoredFailures,
  isFailed,
  isTracked,
} from "./job-pods.ts"

/** Failures counted for each index by itself (KEP-3850). Source: pkg/controller/job/indexed_job_utils.go. */

export const limitsPerIndex = (job: Job): boolean => job.spec.backoffLimitPerIndex !== undefined

/** Returns the failed indexes: those in the status, and those that have just failed for the last time. */
export function failedIndexes(job: Job, pods: readonly Pod[]): Indexes {
  const given = pods
    .filter((pod) => isTracked(pod) && hasValidIndex(pod, job) && isFailed(pod, job) && givesUp(job, pod))
    .map((pod) => completionIndex(pod)!)
  return withIndexes(parseIndexes(job.status.failedIndexes, completionsOf(job)), given)
}

function givesUp(job: Job, pod: Pod): boolean {
  const { action, counted } = judgeFailure(job.spec.podFailurePolicy, pod)
  return action === "FailIndex" || (counted && indexFailures(pod) >= job.spec.backoffLimitPerIndex!)
}

/**
 * Returns the last failed pod of each index that is to be retried. It keeps its finalizer until its successor exists,
 * because only its annotations hold the count of failures, which the successor takes over.
 */
export function awaitingSuccessor(
  job: Job,
  pods: readonly Pod[],
  active: Indexes,
  succeeded: Indexes,
  failed: Indexes,
): ReadonlyMap<number, Pod> {
  const settled = union(active, succeeded, failed)
  const last = new Map<number, Pod>()
  for (const pod of pods) {
    const index = completionIndex(pod)
    if (
      index === undefined ||
      !isTracked(pod) ||
      !hasValidIndex(pod, job) ||
      !isFailed(pod, job) ||
      hasIndex(settled, index)
    )
      continue
    const other = last.get(index)
    if (other === undefined || (failuresOf(other) <= failuresOf(pod) && finishedAt(other) <= finishedAt(pod)))
      last.set(index, pod)
  }
  return last
}

const failuresOf = (pod: Pod): number => indexFailures(pod) + indexIgnoredFailures(pod)

/** Returns the milliseconds until the successor of `failed` may be created. */
export const untilIndexRetry = (failed: Pod | undefined, now: number): number =>
  failed === undefined ? 0 : untilRetry({ failures: failuresOf(failed) + 1, lastFailure: finishedAt(failed) }, now)

/** Returns the annotations that pass the count of failures to the successor of `failed`. */
export function failureCounts(job: Job, failed: Pod | undefined): Readonly<Record<string, string>> {
  if (failed === undefined) return { [INDEX_FAILURES]: "0" }
  const { counted } = judgeFailure(job.spec.podFailurePolicy, failed)
  const ignored = indexIgnoredFailures(failed) + (counted ? 0 : 1)
  return {
    [INDEX_FAILURES]: String(indexFailures(failed) + (counted ? 1 : 0)),
    ...(ignored === 0 ? {} : { [INDEX_IGNORED_FAILURES]: String(ignored) }),
  }
}
