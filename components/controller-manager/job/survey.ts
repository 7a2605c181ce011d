import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import { isPodActive, isPodReady, isPodTerminating } from "../../../pkg/pods/pod-state.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { nextBackoff, type Backoff } from "./backoff.ts"
import { judgeFailure } from "./failure-policy.ts"
import { countOf, NO_INDEXES, parseIndexes, withIndexes, type Indexes } from "./indexes.ts"
import {
  completionIndex,
  completionsOf,
  hasValidIndex,
  isFailed,
  isIndexed,
  isSucceeded,
  isTracked,
} from "./job-pods.ts"
import { awaitingSuccessor, failedIndexes, limitsPerIndex } from "./per-index.ts"

/** The state of a Job and its pods at one reconcile. */
export interface Survey {
  readonly pods: readonly Pod[]
  readonly active: readonly Pod[]
  readonly ready: number
  /** The number of pods that are being deleted and have not ended. */
  readonly terminating: number
  /** Includes what the status has counted; for Indexed Jobs the number of indexes. */
  readonly succeeded: number
  /** Includes what the status has counted, without failures that the failure policy ignores. */
  readonly failed: number
  /** The succeeded indexes in the status, and those together with newly succeeded ones. */
  readonly succeededBefore: Indexes
  readonly succeededIndexes: Indexes
  readonly activeIndexes: Indexes
  /** Undefined for Jobs without backoffLimitPerIndex. */
  readonly failedIndexes: Indexes | undefined
  /** Failed pods whose successor has not been created yet, by index. */
  readonly awaiting: ReadonlyMap<number, Pod>
  readonly backoff: Backoff
}

/** Source: syncJob in pkg/controller/job/job_controller.go. */
export function survey(job: Job, pods: readonly Pod[], backoffBefore: Backoff): Survey {
  const { status, spec } = job
  const counting = {
    succeeded: new Set(status.uncountedTerminatedPods?.succeeded),
    failed: new Set(status.uncountedTerminatedPods?.failed),
  }
  const fresh = pods.filter((pod) => isTracked(pod) && hasValidIndex(pod, job))
  const newSucceeded = fresh.filter((pod) => isSucceeded(pod) && !counting.succeeded.has(pod.metadata.uid ?? ""))
  const newFailed = fresh.filter((pod) => isFailed(pod, job) && !counting.failed.has(pod.metadata.uid ?? ""))
  const active = pods.filter(isPodActive)
  const indexed = isIndexed(job)
  const succeededBefore = indexed ? parseIndexes(status.completedIndexes, completionsOf(job)) : NO_INDEXES
  const succeededIndexes = indexed
    ? withIndexes(
        succeededBefore,
        fresh.filter(isSucceeded).map((pod) => completionIndex(pod)!),
      )
    : NO_INDEXES
  const activeIndexes = indexesOf(active)
  const failing = limitsPerIndex(job) ? failedIndexes(job, pods) : undefined
  return {
    pods,
    active,
    succeededBefore,
    succeededIndexes,
    activeIndexes,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter(isPodTerminating).length,
    succeeded: indexed
      ? countOf(succeededIndexes)
      : (status.succeeded ?? 0) + newSucceeded.length + counting.succeeded.size,
    failed:
      (status.failed ?? 0) +
      newFailed.filter((pod) => judgeFailure(spec.podFailurePolicy, pod).counted).length +
      counting.failed.size,
    failedIndexes: failing,
    awaiting:
      failing === undefined ? new Map() : awaitingSuccessor(job, pods, activeIndexes, succeededIndexes, failing),
    backoff: nextBackoff(backoffBefore, newSucceeded, newFailed),
  }
}

export const indexesOf = (pods: readonly Pod[]): Indexes =>
  withIndexes(
    NO_INDEXES,
    pods.map(completionIndex).filter((index) => index !== undefined),
  )
