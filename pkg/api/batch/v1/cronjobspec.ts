import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { ObjectMeta } from "../../../apimachinery/meta.ts"
import { JobSpec } from "./jobspec.ts"

export const JobTemplateSpec = message("batch.v1.JobTemplateSpec", "The template of a CronJob's jobs.", {
  metadata: f.message(1, ObjectMeta, "Labels and annotations of the jobs.").always().ownRule(),
  spec: f.message(2, JobSpec, "The job.").always(),
})
export interface JobTemplateSpec extends ObjectOf<typeof JobTemplateSpec> {}

export const CronJobSpec = message("batch.v1.CronJobSpec", "Which job runs when.", {
  schedule: f.string(1, "Five fields of cron, or a shorthand such as `@hourly`.").required(),
  timeZone: f.string(8, "Name of a time zone; that of the controllers unless given.").pointer(),
  startingDeadlineSeconds: f.int64(2, "How many seconds late a job may start.").min(0).pointer(),
  concurrencyPolicy: f
    .string(3, "What to do while the job before still runs.")
    .enum("Allow", "Forbid", "Replace")
    .default("Allow"),
  suspend: f.bool(4, "Whether no more jobs are started.").default(false).pointer(),
  jobTemplate: f.message(5, JobTemplateSpec, "What the jobs look like.").required(),
  successfulJobsHistoryLimit: f.int32(6, "How many jobs that succeeded are kept.").min(0).default(3).pointer(),
  failedJobsHistoryLimit: f.int32(7, "How many jobs that failed are kept.").min(0).default(1).pointer(),
})
export interface CronJobSpec extends ObjectOf<typeof CronJobSpec> {}
