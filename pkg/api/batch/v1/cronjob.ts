import { nameWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { jobSpecWarnings, ZONE_IN_SCHEDULE } from "./job-warnings.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { ageOf } from "../../../apimachinery/scalars/time.ts"
import { ObjectReference } from "../../core/v1/reference.ts"
import { selectorText, templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { validateCronJob, validateNewCronJob } from "./cronjob-validation.ts"
import { CronJobSpec } from "./cronjobspec.ts"

export const CronJobStatus = message("batch.v1.CronJobStatus", "The state that the controller has observed.", {
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
    status: f.message(3, CronJobStatus, "The state that the controller has observed.").always(),
  },
)
export type CronJob = ObjectOfResource<typeof CronJob>
