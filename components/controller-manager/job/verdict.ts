import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { conditionOf, holds, type Statement } from "./conditions.ts"
import { judgeFailure } from "./failure-policy.ts"
import { countOf } from "./indexes.ts"
import { completionsOf, isFailed, isIndexed, isSuspended } from "./job-pods.ts"
import { metSuccessRule } from "./success-policy.ts"
import type { Survey } from "./survey.ts"

/**
 * How and why the Job ends. It is first written as an interim condition, FailureTarget or SuccessCriteriaMet; Failed or
 * Complete follows when all pods have ended and are counted. Source: syncJob in pkg/controller/job/job_controller.go.
 */
export interface Verdict extends Statement {
  readonly type: "FailureTarget" | "SuccessCriteriaMet"
  readonly status: "True"
}

/** Returns the verdict; undefined while the Job continues. A verdict is never changed. */
export function verdictOn(job: Job, seen: Survey, now: number): Verdict | undefined {
  return (
    decided(job, "SuccessCriteriaMet") ??
    decided(job, "FailureTarget") ??
    byFailurePolicy(job, seen.pods) ??
    byLimits(job, seen, now) ??
    byIndexes(job, seen)
  )
}

export const COMPLETIONS_REACHED: Verdict = {
  type: "SuccessCriteriaMet",
  status: "True",
  reason: "CompletionsReached",
  message: "Reached expected number of succeeded pods",
}

/** Returns the final condition of a verdict. */
export const finalStatement = ({ type, ...why }: Verdict): Statement => ({
  ...why,
  type: type === "FailureTarget" ? "Failed" : "Complete",
})

const failure = (reason: string, message: string): Verdict => ({
  type: "FailureTarget",
  status: "True",
  reason,
  message,
})

function decided(job: Job, type: Verdict["type"]): Verdict | undefined {
  const { reason = "", message = "" } = conditionOf(job, type) ?? {}
  return holds(job, type) ? { type, status: "True", reason, message } : undefined
}

function byFailurePolicy(job: Job, pods: readonly Pod[]): Verdict | undefined {
  const { podFailurePolicy } = job.spec
  if (podFailurePolicy === undefined) return undefined
  for (const pod of pods) {
    const message = isFailed(pod, job) ? judgeFailure(podFailurePolicy, pod).message : undefined
    if (message !== undefined) return failure("PodFailurePolicy", message)
  }
  return undefined
}

function byLimits(job: Job, { failed, pods }: Survey, now: number): Verdict | undefined {
  if (failed > (job.spec.backoffLimit ?? 6) || restartedTooOften(job, pods))
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
  if (untilDeadline(job, now) === 0) return failure("DeadlineExceeded", "Job was active longer than specified deadline")
  return undefined
}

/** With restartPolicy OnFailure the kubelet retries, so its restarts count. */
function restartedTooOften({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec.template.spec.restartPolicy !== "OnFailure") return false
  const running = pods.filter(({ status }) => status.phase === "Running" || status.phase === "Pending")
  const restarts = running
    .flatMap(({ status }) => [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0)
  return restarts >= Math.max(1, spec.backoffLimit ?? 6)
}

/** Returns the milliseconds until activeDeadlineSeconds have passed, 0 when they have; undefined without a deadline. */
export function untilDeadline(job: Job, now: number): number | undefined {
  const {
    spec: { activeDeadlineSeconds },
    status: { startTime },
  } = job
  if (activeDeadlineSeconds === undefined || startTime === undefined || isSuspended(job)) return undefined
  return Math.max(0, Date.parse(startTime) + activeDeadlineSeconds * 1000 - now)
}

function byIndexes(job: Job, { failedIndexes, succeededIndexes }: Survey): Verdict | undefined {
  if (!isIndexed(job)) return undefined
  if (failedIndexes !== undefined) {
    const failed = countOf(failedIndexes)
    if (job.spec.maxFailedIndexes !== undefined && failed > job.spec.maxFailedIndexes)
      return failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
    if (failed > 0 && failed + countOf(succeededIndexes) >= completionsOf(job))
      return failure("FailedIndexes", "Job has failed indexes")
  }
  const message = metSuccessRule(job.spec.successPolicy, completionsOf(job), succeededIndexes)
  return message === undefined
    ? undefined
    : { type: "SuccessCriteriaMet", status: "True", reason: "SuccessPolicy", message }
}
