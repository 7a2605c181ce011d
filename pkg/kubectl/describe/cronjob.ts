import type { CronJob } from "../../api/batch/v1/cronjob.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { selectorOf } from "./job.ts"
import { describeMetadata } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { longTime } from "./times.ts"

const CRON_JOBS = { group: "batch", version: "v1", resource: "cronjobs" }
const UNSET = "<unset>"

export const describeCronJob: Describer = async (describing, namespace, name) => {
  const cronJob = await describing.client.get<CronJob>(CRON_JOBS, namespace, name)
  const events = await eventsOf(describing, cronJob)
  const { metadata, spec, status } = cronJob
  return description((w) => {
    describeMetadata(w, metadata)
    w.row(0, "Schedule:", spec.schedule)
    w.row(0, "Concurrency Policy:", spec.concurrencyPolicy ?? "")
    w.row(0, "Suspend:", boolText(spec.suspend))
    w.row(0, "Time Zone:", spec.timeZone ?? UNSET)
    w.row(0, "Successful Job History Limit:", spec.successfulJobsHistoryLimit ?? UNSET)
    w.row(0, "Failed Job History Limit:", spec.failedJobsHistoryLimit ?? UNSET)
    const deadline = spec.startingDeadlineSeconds
    w.row(0, "Starting Deadline Seconds:", deadline === undefined ? UNSET : `${deadline}s`)
    describeJobTemplate(w, spec.jobTemplate, describing)
    const last = status?.lastScheduleTime
    w.row(0, "Last Schedule Time:", last ? longTime(last, describing.zone) : UNSET)
    w.row(0, "Active Jobs:", (status?.active ?? []).map((job) => job.name ?? "").join(", ") || "<none>")
    describeEvents(w, events, describing.now())
  })
}

/** Returns a switch that objects may leave to the server. */
export const boolText = (value: boolean | undefined): string => (value === undefined ? UNSET : value ? "True" : "False")

function describeJobTemplate(w: PrefixWriter, { spec }: CronJob["spec"]["jobTemplate"], describing: Describing): void {
  w.row(0, "Selector:", spec.selector ? selectorOf(spec.selector) : UNSET)
  w.row(0, "Parallelism:", spec.parallelism ?? UNSET)
  w.row(0, "Completions:", spec.completions ?? UNSET)
  if (spec.activeDeadlineSeconds !== undefined) w.row(0, "Active Deadline Seconds:", `${spec.activeDeadlineSeconds}s`)
  describePodTemplate(w, spec.template, describing)
}
