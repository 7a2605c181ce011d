import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidWithoutValue,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { parseTime } from "../../../apimachinery/scalars/time.ts"
import { countIndexes, overlapOfIndexes } from "./job-indexes.ts"
import { UncountedTerminatedPods, type JobSpec, type JobStatus } from "./jobspec.ts"
import { pushAll } from "../../../lists/push-all.ts"

interface JobView {
  readonly spec: JobSpec
  readonly status: JobStatus
}

/** Returns the state that the conditions of a status show. */
const stateOf = ({ conditions = [] }: JobStatus) => {
  const is = (type: string, status = "True") =>
    conditions.some((condition) => condition.type === type && condition.status === status)
  return {
    complete: is("Complete"),
    failed: is("Failed"),
    finished: is("Complete") || is("Failed"),
    failing: is("FailureTarget"),
    enough: is("SuccessCriteriaMet"),
    suspended: is("Suspended"),
    resumed: is("Suspended", "False"),
  }
}

/**
 * Returns the faults of the status of a job. Most rules check only what has changed, so that a job with a faulty status
 * can still be written. Source: ValidateJobUpdateStatus in pkg/apis/batch/validation/validation.go,
 * getStatusValidationOptions in pkg/registry/batch/job/strategy.go.
 */
export function jobStatusFaults(job: JobView, old: JobView): readonly Cause[] {
  const { spec, status } = job
  const before = old.status
  const [now, was] = [stateOf(status), stateOf(before)]
  const changed = (field: keyof JobStatus): boolean => !deepEqual(status[field], before[field])
  const finishedChanged = now.finished !== was.finished
  const completeChanged = now.complete !== was.complete
  const causes: Cause[] = [...countFaults(status), ...uncountedFaults(status)]
  const conditions = (wrong: boolean, why: string) => {
    if (wrong) causes.push(invalidWithoutValue("status.conditions", why))
  }
  const value = (wrong: boolean, field: keyof JobStatus, why: string) => {
    if (wrong) causes.push(invalidValue(at("status", field), status[field], why))
  }
  conditions(
    (completeChanged || now.failed !== was.failed) && now.complete && now.failed,
    "cannot set Complete=True and Failed=true conditions",
  )
  conditions(
    (completeChanged || now.failing !== was.failing) && now.complete && now.failing,
    "cannot set Complete=True and FailureTarget=true conditions",
  )
  if (completeChanged || changed("completionTime")) {
    value(
      status.completionTime !== undefined && !now.complete,
      "completionTime",
      "cannot set completionTime when there is no Complete=True condition",
    )
    if (status.completionTime === undefined && now.complete)
      causes.push(required("status.completionTime", "completionTime is required for Complete jobs"))
  }
  value(
    (changed("startTime") || changed("completionTime")) && endsBeforeStart(status),
    "completionTime",
    "must be equal to or after `startTime`",
  )
  conditions(
    (now.failed !== was.failed || changed("failedIndexes")) && now.failed && !now.failing,
    "cannot set Failed=True condition without the FailureTarget=true condition",
  )
  conditions(
    (completeChanged || now.enough !== was.enough) && now.complete && !now.enough,
    "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
  )
  value(
    (finishedChanged || changed("active")) && (status.active ?? 0) > 0 && now.finished,
    "active",
    "active>0 is invalid for finished job",
  )
  const empty = spec.suspend === true && spec.completions === 0
  if ((finishedChanged || changed("startTime")) && !empty && status.startTime === undefined && now.finished)
    causes.push(required("status.startTime", "startTime is required for finished job"))
  const { uncountedTerminatedPods: uncounted } = status
  if (
    (finishedChanged || changed("uncountedTerminatedPods")) &&
    now.finished &&
    uncounted !== undefined &&
    (uncounted.failed ?? []).length + (uncounted.succeeded ?? []).length > 0
  )
    causes.push(
      invalidValue(
        "status.uncountedTerminatedPods",
        goForm(UncountedTerminatedPods, uncounted),
        "must be empty for finished job",
      ),
    )
  pushAll(causes, indexFaults(job, changed("completedIndexes"), changed("failedIndexes")))
  value(
    (finishedChanged || changed("terminating")) && (status.terminating ?? 0) > 0 && now.finished,
    "terminating",
    "terminating>0 is invalid for finished job",
  )
  value(
    (changed("ready") || changed("active")) && (status.ready ?? 0) > (status.active ?? 0),
    "ready",
    "cannot set more ready pods than active",
  )
  conditions(now.enough && now.failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
  conditions(now.enough && now.failing, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
  conditions(
    spec.successPolicy !== undefined && !now.enough && now.complete,
    "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
  )
  conditions(was.failed && !now.failed, "cannot disable the terminal Failed=True condition")
  conditions(was.complete && !now.complete, "cannot disable the terminal Complete=True condition")
  conditions(was.failing && !now.failing, "cannot disable the terminal FailureTarget=True condition")
  value((status.failed ?? 0) < (before.failed ?? 0), "failed", "cannot decrease the failed counter")
  // An indexed job whose completions equal its parallelism can be scaled.
  const scales = spec.completionMode === "Indexed" && spec.completions === spec.parallelism
  value(
    !scales && (status.succeeded ?? 0) < (before.succeeded ?? 0),
    "succeeded",
    "cannot decrease the succeeded counter",
  )
  value(
    status.completionTime !== undefined && before.completionTime !== undefined && changed("completionTime"),
    "completionTime",
    "field is immutable",
  )
  value(
    changed("startTime") && before.startTime !== undefined && !(was.suspended && now.resumed) && spec.suspend !== true,
    "startTime",
    "field is immutable for unsuspended job once set",
  )
  conditions(was.enough && !now.enough, "cannot disable the SuccessCriteriaMet=True condition")
  conditions(
    was.complete && !was.enough && now.enough,
    "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
  )
  return causes
}

const COUNTS = ["active", "succeeded", "failed", "ready", "terminating"] as const

const countFaults = (status: JobStatus): readonly Cause[] =>
  COUNTS.flatMap((field) =>
    (status[field] ?? 0) < 0
      ? [invalidValue(at("status", field), status[field], "must be greater than or equal to 0")]
      : [],
  )

function uncountedFaults({ uncountedTerminatedPods: uncounted }: JobStatus): readonly Cause[] {
  const seen = new Set<string>()
  return (["succeeded", "failed"] as const).flatMap((field) =>
    (uncounted?.[field] ?? []).flatMap((uid, i) => {
      const path = at("status", "uncountedTerminatedPods", field, i)
      if (uid === "") return [invalidValue(path, uid, "must not be empty")]
      if (seen.has(uid)) return [duplicate(path, uid)]
      seen.add(uid)
      return []
    }),
  )
}

function endsBeforeStart({ startTime, completionTime }: JobStatus): boolean {
  if (startTime === undefined || completionTime === undefined) return false
  const [start, end] = [parseTime(startTime), parseTime(completionTime)]
  return start !== undefined && end !== undefined && end < start
}

function indexFaults({ spec, status }: JobView, completedChanged: boolean, failedChanged: boolean): readonly Cause[] {
  if (!completedChanged && !failedChanged) return []
  const { completions, backoffLimitPerIndex, completionMode } = spec
  const { completedIndexes = "", failedIndexes } = status
  const causes: Cause[] = []
  const wrong = (field: "completedIndexes" | "failedIndexes", why: string) =>
    causes.push(invalidValue(at("status", field), status[field] ?? "", why))
  if (completedChanged && completions !== undefined) {
    const count = countIndexes(completedIndexes, completions)
    if (typeof count === "string") wrong("completedIndexes", `error parsing completedIndexes: ${count}`)
  }
  if (failedChanged && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined) {
    const count = countIndexes(failedIndexes, completions)
    if (typeof count === "string") wrong("failedIndexes", `error parsing failedIndexes: ${count}`)
  }
  if (completedChanged && completedIndexes !== "" && completionMode !== "Indexed")
    wrong("completedIndexes", "cannot set non-empty completedIndexes when non-indexed completion mode")
  if (failedChanged && failedIndexes !== undefined && backoffLimitPerIndex === undefined)
    wrong("failedIndexes", "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
  if ((failedChanged || completedChanged) && completions !== undefined && failedIndexes !== undefined) {
    const overlap = overlapOfIndexes(completedIndexes, failedIndexes, completions)
    if (overlap !== undefined) wrong("failedIndexes", overlap)
  }
  return causes
}
