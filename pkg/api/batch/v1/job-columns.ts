import { humanDuration, parseTime } from "../../../apimachinery/scalars/time.ts"
import type { JobSpec, JobStatus } from "./jobspec.ts"

/** The cells of `kubectl get jobs`. Source: printJob in pkg/printers/internalversion/printers.go. */
interface JobView {
  readonly metadata: { readonly deletionTimestamp?: string | undefined }
  readonly spec: JobSpec
  readonly status: JobStatus
}

const holds = (job: JobView, type: string): boolean =>
  job.status.conditions?.some((condition) => condition.type === type && condition.status === "True") === true

/** Complete, Failed, Terminating, Suspended, SuccessCriteriaMet, FailureTarget or Running. */
export function jobState(job: JobView): string {
  if (holds(job, "Complete")) return "Complete"
  if (holds(job, "Failed")) return "Failed"
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating"
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find((type) => holds(job, type)) ?? "Running"
}

export function jobCompletions({ spec, status }: JobView): string {
  const succeeded = status.succeeded ?? 0
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`
  const parallelism = spec.parallelism ?? 0
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

export function jobDuration({ status }: JobView, now: number): string {
  if (status.startTime === undefined) return ""
  const started = parseTime(status.startTime)!
  return humanDuration((status.completionTime === undefined ? now : parseTime(status.completionTime)!) - started)
}
