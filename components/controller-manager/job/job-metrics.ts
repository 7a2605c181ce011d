import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"

/** Source: pkg/controller/job/metrics, ExponentialBuckets(0.004, 2, 15). */
const SYNC_BUCKETS = Array.from({ length: 15 }, (_, i) => 0.004 * 2 ** i)

export type SyncAction = "reconciling" | "tracking" | "pods_created" | "pods_deleted"

/** The metrics of the Job controller, under upstream's names. */
export class JobMetrics {
  readonly #seconds
  readonly #syncs
  readonly #finished
  readonly #pods

  constructor(registry: Registry) {
    const labels = ["completion_mode", "result", "action"] as const
    this.#seconds = registry.histogram(
      "job_controller_job_sync_duration_seconds",
      "The time it took to sync a job",
      SYNC_BUCKETS,
      ...labels,
    )
    this.#syncs = registry.counter("job_controller_job_syncs_total", "The number of job syncs", ...labels)
    this.#finished = registry.counter(
      "job_controller_jobs_finished_total",
      "The number of finished jobs",
      "completion_mode",
      "result",
      "reason",
    )
    this.#pods = registry.counter(
      "job_controller_job_pods_finished_total",
      "The number of finished Pods that are fully tracked",
      "completion_mode",
      "result",
    )
  }

  synced(job: Job, result: "success" | "error", action: SyncAction, milliseconds: number): void {
    this.#seconds.with(modeOf(job), result, action).observe(milliseconds / 1000)
    this.#syncs.with(modeOf(job), result, action).inc()
  }

  /** Counts what a write of the status has added. */
  written({ status: before }: Job, job: Job): void {
    for (const result of ["succeeded", "failed"] as const) {
      const more = (job.status[result] ?? 0) - (before[result] ?? 0)
      if (more > 0) this.#pods.with(modeOf(job), result).inc(more)
    }
    for (const [type, result] of RESULTS) {
      const end = conditionOf(job.status, type)
      if (end !== undefined && conditionOf(before, type) === undefined)
        this.#finished.with(modeOf(job), result, end.reason ?? "").inc()
    }
  }
}

const RESULTS = [
  ["Complete", "succeeded"],
  ["Failed", "failed"],
] as const

const conditionOf = ({ conditions = [] }: Job["status"], wanted: string) =>
  conditions.find(({ type, status }) => type === wanted && status === "True")

const modeOf = ({ spec }: Job): string => spec.completionMode ?? "NonIndexed"
