import { nameWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { jobSpecWarnings, ZONE_IN_SCHEDULE } from "./job-warnings.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { ageOf } from "../../../apimachinery/scalars/time.ts"
import { ObjectReference } from "../../core/v1/reference.ts"
import { selectorText, templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { JobSpec } from "./jobspec.ts"
import { validateCronJob, validateNewCronJob } from "./cronjob-validation.ts"

export const JobTemplateSpec = message("batch.v1.JobTemplateSpec", "What the jobs of a cron job look like.", {
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

export const CronJobStatus = message("batch.v1.CronJobStatus", "What the controller has seen.", {
  active: f.list(1, ObjectReference, "Jobs that run.").atomic(),
  lastScheduleTime: f.time(4, "When a job was last started."),
  lastSuccessfulTime: f.time(5, "When a job last succeeded."),
})
export interface CronJobStatus extends ObjectOf<typeof CronJobStatus> {}

export const CronJob = defineResource(
  {
    group: "batch",
    version: "v1",
    kind: "CronJob",
    plural: "cronjobs",
    shortNames: ["cj"],
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.jobTemplate.spec.template",
    generation: true,
    doc: "Starts a job at given times.",
    columns: [
      { name: "Schedule", type: "string", doc: "When jobs are started.", value: (cron) => cron.spec.schedule },
      { name: "Timezone", type: "string", doc: "Time zone of the schedule.", value: (cron) => cron.spec.timeZone },
      {
        name: "Suspend",
        type: "boolean",
        doc: "Whether no more jobs are started.",
        value: (cron) => (cron.spec.suspend ? "True" : "False"),
      },
      {
        name: "Active",
        type: "integer",
        doc: "Number of jobs that run.",
        value: (cron) => cron.status.active?.length ?? 0,
      },
      {
        name: "Last Schedule",
        type: "string",
        doc: "When a job was last started.",
        value: (cron, now) =>
          cron.status.lastScheduleTime === undefined ? undefined : ageOf(cron.status.lastScheduleTime, now),
      },
      ...templateColumns<KubeObject & { readonly spec: CronJobSpec }>(
        (cron) => cron.spec.jobTemplate.spec.template.spec,
        (cron) => selectorText(cron.spec.jobTemplate.spec.selector),
      ),
    ],
    subresources: { status: true },
    warnings: (cron, old) => [
      ...(old === undefined ? nameWarnings(cron) : []),
      ...jobSpecWarnings(cron, old, cron.spec.jobTemplate.spec, "spec.jobTemplate.spec"),
      ...(old !== undefined && cron.spec.schedule.includes("TZ") ? [ZONE_IN_SCHEDULE] : []),
    ],
    validateSpec: (cron, old) => validateCronJob(cron, old?.spec),
    validateCreate: (cron) => validateNewCronJob(cron),
  },
  {
    spec: f.message(2, CronJobSpec, "Which job runs when.").always().printZero(),
    status: f.message(3, CronJobStatus, "What the controller has seen.").always(),
  },
)
export type CronJob = ObjectOfResource<typeof CronJob>
