import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { type JobStatus } from "../../../pkg/api/batch/v1/jobspec.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { withCondition } from "./conditions.ts"
import type { JobMetrics } from "./job-metrics.ts"
import { judgeFailure } from "./failure-policy.ts"
import { countOf, formatIndexes, hasIndex, withIndexes } from "./indexes.ts"
import { completionIndex, hasValidIndex, isFailed, isIndexed, isSucceeded, isTracked } from "./job-pods.ts"
import { untrack } from "./manage.ts"
import type { Survey } from "./survey.ts"
import { finalStatement, type Verdict } from "./verdict.ts"

/** Most pods recorded as ended and not counted yet, so that the status stays small. Source: MaxUncountedPods. */
const MOST_UNCOUNTED = 500

export interface JobContext extends ReconcileContext {
  readonly metrics: JobMetrics | undefined
}

export interface Accounting {
  /** The stored Job. */
  readonly job: Job
  /** The wanted status, except for the counters of ended pods. */
  readonly status: JobStatus
  readonly seen: Survey
  readonly verdict: Verdict | undefined
}

/**
 * Counts ended pods, each exactly once, whatever fails in between. First their UIDs are written to the status, with the
 * interim condition; then their finalizers are removed; then they are counted and their UIDs removed. When no pod is
 * left to count, the Job becomes Complete or Failed. Calls `noted` after the first step. Source:
 * trackJobStatusAndRemoveFinalizers in pkg/controller/job/job_controller.go.
 */
export async function account(
  { job, status, seen, verdict }: Accounting,
  context: JobContext,
  noted: () => void,
): Promise<void> {
  const now = timestamp(context.clock)
  const waiting = new Set(seen.pods.filter(isTracked).map(uidOf))
  const selected = select(job, counted(status, waiting), seen, verdict)
  const conditions =
    verdict === undefined ? selected.status.conditions : withCondition(selected.status.conditions ?? [], verdict, now)
  let stored = await write(job, { ...selected.status, ...(conditions === undefined ? {} : { conditions }) }, context)
  noted()

  const failure = selected.pods.length === 0 ? undefined : await removeFinalizers(selected.pods, waiting, context)
  const after = counted(stored.status, waiting)
  const { succeeded = [], failed = [] } = after.uncountedTerminatedPods ?? {}
  const ended =
    verdict !== undefined &&
    failure === undefined &&
    !selected.more &&
    succeeded.length + failed.length === 0 &&
    (after.terminating ?? 0) === 0
  if (!ended) {
    stored = await write(stored, after, context)
    if (failure !== undefined) throw failure
    return
  }
  const final = finalStatement(verdict)
  stored = await write(
    stored,
    {
      ...after,
      conditions: withCondition(after.conditions ?? [], final, now),
      ...(final.type === "Complete" ? { completionTime: now } : {}),
    },
    context,
  )
  if (final.type === "Failed") return context.events.event(stored, "Warning", final.reason, final.message)
  if (job.spec.completions !== undefined && (stored.status.succeeded ?? 0) > job.spec.completions) {
    context.events.event(
      stored,
      "Warning",
      "TooManySucceededPods",
      "Too many succeeded pods running after completion count reached",
    )
  }
  context.events.event(stored, "Normal", "Completed", "Job completed")
}

/** Removes the finalizers of pods, and the UIDs of these pods from `waiting`. Returns the first failure. */
async function removeFinalizers(
  pods: readonly Pod[],
  waiting: Set<string>,
  context: ReconcileContext,
): Promise<unknown> {
  const results = await Promise.allSettled(pods.map((pod) => untrack(pod, context)))
  for (const [i, pod] of pods.entries()) if (results[i]!.status === "fulfilled") waiting.delete(uidOf(pod))
  return results.find((result) => result.status === "rejected")?.reason as unknown
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? ""

async function write(job: Job, status: JobStatus, { client, metrics }: JobContext): Promise<Job> {
  if (deepEqual(status, job.status)) return job
  const written = await client.updateStatus(Job, { ...job, status })
  metrics?.written(job, written)
  return written
}

/** Moves the UIDs of pods without finalizers from the list to the counters. */
function counted(status: JobStatus, waiting: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  if (status.uncountedTerminatedPods !== undefined && succeeded.length + failed.length === 0) return status
  const left = {
    succeeded: succeeded.filter((uid) => waiting.has(uid)),
    failed: failed.filter((uid) => waiting.has(uid)),
  }
  const gone = { succeeded: succeeded.length - left.succeeded.length, failed: failed.length - left.failed.length }
  return {
    ...status,
    ...(gone.succeeded === 0 ? {} : { succeeded: (status.succeeded ?? 0) + gone.succeeded }),
    ...(gone.failed === 0 ? {} : { failed: (status.failed ?? 0) + gone.failed }),
    uncountedTerminatedPods: {
      ...(left.succeeded.length === 0 ? {} : { succeeded: left.succeeded }),
      ...(left.failed.length === 0 ? {} : { failed: left.failed }),
    },
  }
}

interface Selection {
  /** Pods whose finalizers may be removed. */
  readonly pods: readonly Pod[]
  readonly status: JobStatus
  /** Whether there are more pods than fit into one status. */
  readonly more: boolean
}

function select(job: Job, status: JobStatus, seen: Survey, verdict: Verdict | undefined): Selection {
  const uncounted = {
    succeeded: [...(status.uncountedTerminatedPods?.succeeded ?? [])],
    failed: [...(status.uncountedTerminatedPods?.failed ?? [])],
  }
  const newIndexes: number[] = []
  const pods: Pod[] = []
  let more = false
  const order = isIndexed(job)
    ? [...seen.pods].sort((a, b) => (completionIndex(a) ?? -1) - (completionIndex(b) ?? -1))
    : seen.pods
  for (const pod of order) {
    if (!isTracked(pod) || !mayGo(job, pod, seen, verdict)) continue
    if (newIndexes.length + uncounted.succeeded.length + uncounted.failed.length >= MOST_UNCOUNTED) {
      more = true
      break
    }
    pods.push(pod)
    const uid = uidOf(pod)
    if (isSucceeded(pod) && !uncounted.failed.includes(uid)) {
      // The index is recorded itself, so the UID is not needed.
      if (!isIndexed(job)) addOnce(uncounted.succeeded, uid)
      else if (hasValidIndex(pod, job) && !hasIndex(seen.succeededBefore, completionIndex(pod)!))
        newIndexes.push(completionIndex(pod)!)
    } else if (isFailed(pod, job) || verdict?.type === "FailureTarget") {
      if (hasValidIndex(pod, job) && judgeFailure(job.spec.podFailurePolicy, pod).counted)
        addOnce(uncounted.failed, uid)
    }
  }
  if (pods.length === 0 && !isIndexed(job)) return { pods, more, status }
  const uncountedTerminatedPods = {
    ...(uncounted.succeeded.length === 0 ? {} : { succeeded: uncounted.succeeded }),
    ...(uncounted.failed.length === 0 ? {} : { failed: uncounted.failed }),
  }
  if (!isIndexed(job)) return { pods, more, status: { ...status, uncountedTerminatedPods } }
  const completed = withIndexes(seen.succeededBefore, newIndexes)
  const { completedIndexes: _completed, failedIndexes: _failed, succeeded: _succeeded, ...others } = status
  return {
    pods,
    more,
    status: {
      ...others,
      uncountedTerminatedPods,
      ...(completed.length === 0 ? {} : { completedIndexes: formatIndexes(completed), succeeded: countOf(completed) }),
      ...(seen.failedIndexes === undefined ? {} : { failedIndexes: formatIndexes(seen.failedIndexes) }),
    },
  }
}

/**
 * Whether the finalizer may be removed: while the Job continues, not from a running pod, nor from a failed pod whose
 * successor still has to take over its count of failures.
 */
function mayGo(job: Job, pod: Pod, seen: Survey, verdict: Verdict | undefined): boolean {
  if (job.metadata.deletionTimestamp !== undefined || verdict !== undefined || isSucceeded(pod)) return true
  if (!isFailed(pod, job)) return false
  const index = completionIndex(pod)
  return index === undefined || seen.awaiting.get(index) !== pod
}

function addOnce(list: string[], uid: string): void {
  if (!list.includes(uid)) list.push(uid)
}
