import type { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

type CronJobContext = Pick<ReconcileContext, "client" | "events">

/** Returns how a Job has ended; undefined while it runs. */
export function endOf({ status }: Job): "Complete" | "Failed" | undefined {
  for (const { type, status: value } of status.conditions ?? [])
    if ((type === "Complete" || type === "Failed") && value === "True") return type
  return undefined
}

/**
 * Deletes the oldest ended Jobs beyond the history limits. Source: cleanupFinishedJobs in
 * pkg/controller/cronjob/cronjob_controllerv2.go.
 */
export async function trimHistory(cron: CronJob, jobs: readonly Job[], context: CronJobContext): Promise<void> {
  const limits = [
    ["Complete", cron.spec.successfulJobsHistoryLimit],
    ["Failed", cron.spec.failedJobsHistoryLimit],
  ] as const
  for (const [end, limit] of limits) {
    if (limit === undefined || jobs.length <= limit) continue
    const ended = jobs.filter((job) => endOf(job) === end && job.metadata.deletionTimestamp === undefined).sort(byStart)
    for (const job of ended.slice(0, Math.max(0, ended.length - limit)))
      await deleteJob(cron, job, context).catch(() => undefined) // an event reports it; the next reconcile retries
  }
}

/** Deletes a Job with its pods, and records an event. */
export async function deleteJob(cron: CronJob, job: Job, { client, events }: CronJobContext): Promise<void> {
  try {
    await client.delete(Job, job.metadata, { propagationPolicy: "Background" })
    events.event(cron, "Normal", "SuccessfulDelete", `Deleted job ${job.metadata.name}`)
  } catch (err) {
    if (isNotFound(err)) return
    events.event(cron, "Warning", "FailedDelete", `Deleted job: ${errorMessage(err)}`)
    throw err
  }
}

/** Sorts by start time; Jobs that have not started come last. */
function byStart(a: Job, b: Job): number {
  const [x, y] = [a.status.startTime ?? "~", b.status.startTime ?? "~"]
  if (x !== y) return x < y ? -1 : 1
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1
}
