import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, notSupported, required, tooMany } from "../../../apimachinery/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/labelselector.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { isDNS1123Label } from "../../../apimachinery/names.ts"
import { matcherFor, validateMatches, validateTemplate } from "../../core/v1/template-validation.ts"
import type { PodTemplateSpec } from "../../core/v1/podtemplate.ts"
import { parseCron } from "../../../cron/schedule.ts"
import type { CronJobSpec } from "./cronjob.ts"
import type { JobSpec, JobStatus } from "./job.ts"

/** Rules of jobs and cron jobs. Source: pkg/apis/batch/validation/validation.go and pkg/registry/batch/job/strategy.go. */
interface JobView {
  readonly metadata: ObjectMeta
  readonly spec: JobSpec
  readonly status: JobStatus
}

const MOST_INDEXES_AT_ONCE = 100_000
const MOST_FAILURE_RULES = 20
/** A cron job's jobs get eleven characters more than its name, and have 63. */
const LONGEST_CRON_NAME = 52

export function validateJob({ metadata, spec }: JobView): readonly Cause[] {
  const { selector, template, completions, completionMode } = spec
  const causes: Cause[] = []
  if (completionMode === "Indexed" && (completions ?? 0) > 0) {
    const longest = `${metadata.name}-${completions! - 1}`
    const problem = isDNS1123Label(longest)
    if (problem !== undefined) causes.push(invalidValue("metadata.name", longest, `will not able to create pod with invalid DNS label: ${longest}`))
  }
  causes.push(...validateJobSpec(spec, "spec"))
  if (selector === undefined) return [...causes, required("spec.selector")]
  return [...causes, ...labelSelectorFaults("spec.selector", selector), ...validateMatches(matcherFor(selector), template, "spec.template")]
}

function validateJobSpec(spec: JobSpec, path: string): readonly Cause[] {
  const { template, completionMode, completions, parallelism = 0, backoffLimitPerIndex, maxFailedIndexes, podReplacementPolicy, podFailurePolicy, successPolicy } = spec
  const { restartPolicy } = template.spec
  const causes: Cause[] = [...validateTemplate(template, at(path, "template"))]
  if (restartPolicy === "Always") causes.push(required(at(path, "template", "spec", "restartPolicy"), 'valid values: "OnFailure", "Never"'))
  if (completionMode === "Indexed") {
    if (completions === undefined) causes.push(required(at(path, "completions"), "when completion mode is Indexed"))
    if (parallelism > MOST_INDEXES_AT_ONCE) causes.push(invalidValue(at(path, "parallelism"), parallelism, `must be less than or equal to ${MOST_INDEXES_AT_ONCE} when completion mode is Indexed`))
  } else {
    if (backoffLimitPerIndex !== undefined) causes.push(invalidValue(at(path, "backoffLimitPerIndex"), backoffLimitPerIndex, "requires indexed completion mode"))
    if (maxFailedIndexes !== undefined) causes.push(invalidValue(at(path, "maxFailedIndexes"), maxFailedIndexes, "requires indexed completion mode"))
    if (successPolicy !== undefined) causes.push(invalidValue(at(path, "successPolicy"), successPolicy, "requires indexed completion mode"))
  }
  if (maxFailedIndexes !== undefined) {
    if (backoffLimitPerIndex === undefined) causes.push(required(at(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
    if (completions !== undefined && maxFailedIndexes > completions) causes.push(invalidValue(at(path, "maxFailedIndexes"), maxFailedIndexes, "must be less than or equal to completions"))
  }
  if (podFailurePolicy !== undefined) {
    if (restartPolicy !== "Never") causes.push(invalidValue(at(path, "template", "spec", "restartPolicy"), restartPolicy, 'only "Never" is supported when podFailurePolicy is specified'))
    if (podReplacementPolicy !== undefined && podReplacementPolicy !== "Failed") causes.push(notSupported(at(path, "podReplacementPolicy"), podReplacementPolicy, ["Failed"]))
    causes.push(...validateFailurePolicy(spec, at(path, "podFailurePolicy", "rules")))
  }
  return causes
}

function validateFailurePolicy({ podFailurePolicy, template, backoffLimitPerIndex }: JobSpec, path: string): readonly Cause[] {
  const { rules } = podFailurePolicy!
  const containers = new Set([...template.spec.containers, ...(template.spec.initContainers ?? [])].map(({ name }) => name))
  const causes: Cause[] = rules.length > MOST_FAILURE_RULES ? [tooMany(path, rules.length, MOST_FAILURE_RULES)] : []
  for (const [i, { action, onExitCodes, onPodConditions }] of rules.entries()) {
    const here = at(path, i)
    if (onExitCodes !== undefined && onPodConditions !== undefined) causes.push(invalidValue(here, "", "specifying both OnExitCodes and OnPodConditions is not supported"))
    if (onExitCodes === undefined && (onPodConditions ?? []).length === 0) causes.push(invalidValue(here, "", "specifying one of OnExitCodes and OnPodConditions is required"))
    if (action === "FailIndex" && backoffLimitPerIndex === undefined) causes.push(invalidValue(at(here, "action"), action, "requires the backoffLimitPerIndex to be set"))
    if (onExitCodes === undefined) continue
    const { containerName, operator, values } = onExitCodes
    if (containerName !== undefined && !containers.has(containerName)) causes.push(invalidValue(at(here, "onExitCodes", "containerName"), containerName, "must be one of the container or initContainer names in the pod template"))
    if (operator === "In" && values.includes(0)) causes.push(invalidValue(at(here, "onExitCodes", "values", values.indexOf(0)), 0, "must not be 0 for the In operator"))
  }
  return causes
}

const FIXED = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] as const

export function validateJobChange({ spec }: JobView, { spec: old, status }: JobView): readonly Cause[] {
  const causes: Cause[] = []
  const immutable = (field: string, value: unknown) => invalidValue(`spec.${field}`, value, "field is immutable")
  if (spec.completions !== old.completions) {
    if (spec.completionMode !== "Indexed" || spec.completions === undefined || old.completions === undefined) causes.push(immutable("completions", spec.completions))
    else if (spec.completions !== spec.parallelism) causes.push(invalidValue("spec.completions", spec.completions, "can only be modified in tandem with spec.parallelism"))
  }
  if (!deepEqual(spec.selector, old.selector)) causes.push(immutable("selector", spec.selector))
  // a job that is held back and has never run may still be sent elsewhere
  const held = old.suspend === true && status.startTime === undefined
  if (!deepEqual(held ? placedAs(spec.template, old.template) : spec.template, old.template)) causes.push(immutable("template", spec.template))
  for (const field of FIXED) if (!deepEqual(spec[field], old[field])) causes.push(immutable(field, spec[field]))
  return causes
}

/** A template with the scheduling directives of another. */
function placedAs(template: PodTemplateSpec, old: PodTemplateSpec): PodTemplateSpec {
  const { labels, annotations } = old.metadata
  const { nodeSelector, tolerations, schedulingGates } = old.spec
  const nodeAffinity = old.spec.affinity?.nodeAffinity
  const affinity = template.spec.affinity === undefined && nodeAffinity === undefined ? undefined : { ...template.spec.affinity, nodeAffinity }
  const same = affinity !== undefined && old.spec.affinity === undefined && Object.values(affinity).every((part) => part === undefined)
  return {
    metadata: { ...template.metadata, labels, annotations },
    spec: { ...template.spec, nodeSelector, tolerations, schedulingGates, affinity: same ? undefined : affinity },
  }
}

export function validateCronJob({ metadata: { name = "" }, spec }: { readonly metadata: ObjectMeta; readonly spec: CronJobSpec }): readonly Cause[] {
  const { schedule, timeZone, jobTemplate } = spec
  const causes: Cause[] = name.length > LONGEST_CRON_NAME ? [invalidValue("metadata.name", name, `must be no more than ${LONGEST_CRON_NAME} characters`)] : []
  if (schedule.includes("TZ")) causes.push(invalidValue("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
  else {
    const parsed = parseCron(schedule)
    if (typeof parsed === "string") causes.push(invalidValue("spec.schedule", schedule, parsed))
  }
  if (timeZone !== undefined) causes.push(...validateTimeZone(timeZone))
  causes.push(...validateJobSpec(jobTemplate.spec, "spec.jobTemplate.spec"))
  if (jobTemplate.spec.selector !== undefined) causes.push(invalidValue("spec.jobTemplate.spec.selector", jobTemplate.spec.selector, "`selector` will be auto-generated"))
  if (jobTemplate.spec.manualSelector === true) causes.push(notSupported("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"]))
  return causes
}

function validateTimeZone(timeZone: string): readonly Cause[] {
  if (timeZone === "") return [invalidValue("spec.timeZone", timeZone, "timeZone must be nil or non-empty string")]
  if (timeZone.toLowerCase() === "local") return [invalidValue("spec.timeZone", timeZone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")]
  try {
    new Intl.DateTimeFormat("en", { timeZone })
    return []
  } catch {
    return [invalidValue("spec.timeZone", timeZone, `unknown time zone ${timeZone}`)]
  }
}
