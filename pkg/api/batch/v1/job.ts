import { nameWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { jobSpecWarnings } from "./job-warnings.ts"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { selectorText, templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { validateJobChange } from "./job-change-validation.ts"
import { jobCompletions, jobDuration, jobState } from "./job-columns.ts"
import { jobDefaults, withGeneratedSelector } from "./job-defaults.ts"
import { jobStatusFaults } from "./job-status-validation.ts"
import { generatedFaults, validateJob } from "./job-validation.ts"
import { JobSpec, JobStatus } from "./jobspec.ts"

export const Job = defineResource(
  {
    group: "batch",
    version: "v1",
    kind: "Job",
    plural: "jobs",
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.template",
    upstreamChecks: { wholeMetadata: 1, rules: 2 },
    generation: true,
    defaultGarbageCollectionPolicy: "OrphanDependents",
    defaultPolicyWarning:
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
    doc: "Runs pods until enough of them have succeeded.",
    columns: [
      { name: "Status", type: "string", doc: "State of the job.", value: jobState },
      { name: "Completions", type: "string", doc: "Succeeded pods and desired completions.", value: jobCompletions },
      { name: "Duration", type: "string", doc: "Time that the job has run.", value: jobDuration },
      ...templateColumns<KubeObject & { readonly spec: JobSpec }>(
        (job) => job.spec.template.spec,
        (job) => selectorText(job.spec.selector),
      ),
    ],
    fieldSelectors: { "status.successful": (job) => String(job.status.succeeded ?? 0) },
    unknownFieldSelector: (path) => `field label ${goQuoted(path)} not supported for Job`,
    subresources: { status: { validateUpdate: (job, old) => jobStatusFaults(job, old) } },
    defaults: (job) => jobDefaults(job),
    prepareForCreate: (job) => withGeneratedSelector(job),
    warnings: (job, old) => [
      ...(old === undefined ? nameWarnings(job) : []),
      ...jobSpecWarnings(job, old, job.spec, "spec"),
    ],
    // Upstream reports the faults of an update twice, but those of generated fields once.
    validateSpec: (job, old) =>
      old === undefined ? [...generatedFaults(job, old), ...validateJob(job)] : validateJob(job),
    validateSpecUpdate: (job, old) => [...generatedFaults(job, old), ...validateJobChange(job, old)],
  },
  {
    spec: f.message(2, JobSpec, "What to run, and how often.").always(),
    status: f.message(3, JobStatus, "What the controller has seen.").always(),
  },
)
export type Job = ObjectOfResource<typeof Job>
