import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import { setCondition } from "../../../pkg/apimachinery/conditions.ts"
import type { JobCondition } from "../../../pkg/api/batch/v1/jobspec.ts"

/** Conditions of Jobs. Source: pkg/controller/job/job_controller.go, k8s.io/api/batch/v1. */

export type ConditionType = "SuccessCriteriaMet" | "FailureTarget" | "Complete" | "Failed" | "Suspended"

/** A condition without its times. */
export interface Statement {
  readonly type: ConditionType
  readonly status: "True" | "False"
  readonly reason: string
  readonly message: string
}

export const conditionOf = ({ status }: Job, type: ConditionType): JobCondition | undefined =>
  status.conditions?.find((condition) => condition.type === type)
export const holds = (job: Job, type: ConditionType): boolean => conditionOf(job, type)?.status === "True"
export const isFinished = (job: Job): boolean => holds(job, "Complete") || holds(job, "Failed")

/**
 * Returns the conditions with this one set; the same list when it is set already, or when a condition that never
 * existed is to be false.
 */
export function withCondition(
  conditions: readonly JobCondition[],
  statement: Statement,
  now: string,
): readonly JobCondition[] {
  const { type, status, reason, message } = statement
  const made: JobCondition = {
    type,
    status,
    lastProbeTime: now,
    lastTransitionTime: now,
    ...(reason === "" ? {} : { reason }),
    ...(message === "" ? {} : { message }),
  }
  const before = conditions.find((condition) => condition.type === type)
  const isSet =
    before === undefined
      ? status === "False"
      : before.status === status && (before.reason ?? "") === reason && (before.message ?? "") === message
  return isSet ? conditions : setCondition(conditions, made)
}
