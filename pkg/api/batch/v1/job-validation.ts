import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { domainPathFaults } from "../../../apimachinery/domain-path.ts"
import {
  at,
  atKey,
  duplicate,
  invalidValue,
  invalidValues,
  invalidWithoutValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "../../../apimachinery/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/labelselector.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { isDNS1123Label, isQualifiedName } from "../../../apimachinery/names.ts"
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

const MOST_INDEXES = 100_000
/** Of jobs with more indexes than that, fewer may run and fail. */
const MOST_OF_MANY = 10_000
const MOST_FAILURE_RULES = 20
const MOST_EXIT_CODES = 255
const MOST_CONDITIONS = 20
const MOST_SUCCESS_RULES = 20
const LONGEST_INDEXES = 64 * 1024
const LONGEST_MANAGER = 63
/** A cron job's jobs get eleven characters more than its name, and have 63. */
const LONGEST_CRON_NAME = 52

export function validateJob({ metadata: { name = "" }, spec }: JobView): readonly Cause[] {
  const { selector, template, completions = 0, completionMode } = spec
  const causes: Cause[] = [...validateJobSpec(spec, "spec")]
  if (selector === undefined) causes.push(required("spec.selector"))
  else
    causes.push(
      ...labelSelectorFaults("spec.selector", selector),
      ...validateMatches(matcherFor(selector), template, "spec.template"),
    )
  const longest = `${name}-${completions - 1}`
  if (completionMode === "Indexed" && completions > 0 && isDNS1123Label(longest) !== undefined)
    causes.push(invalidValue("metadata.name", name, `will not able to create pod with invalid DNS label: ${longest}`))
  return causes
}

/** Unless its user sees to the selector, a job's pods carry its name and uid, and nothing but these selects them. Source: validateGeneratedSelector. */
export function validateNewJob({
  metadata: { name = "", uid = "" },
  spec: { selector, template, manualSelector },
}: JobView): readonly Cause[] {
  if (manualSelector === true || selector === undefined) return []
  const expected: Readonly<Record<string, string>> = {
    "controller-uid": uid,
    "job-name": name,
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
  }
  const { labels = {} } = template.metadata
  const causes = Object.entries(expected).flatMap(([key, value]) => {
    const field = atKey("spec.template.metadata.labels", key)
    return labels[key] === undefined
      ? [required(field, `must be '${value}'`)]
      : labels[key] === value
        ? []
        : [invalidValue(field, labels, `must be '${value}'`)]
  })
  return matcherFor(selector)?.matches(expected) === false
    ? [...causes, invalidValue("spec.selector", selector, "`selector` not auto-generated")]
    : causes
}

function validateJobSpec(spec: JobSpec, path: string): readonly Cause[] {
  const {
    template,
    completionMode,
    maxFailedIndexes,
    backoffLimitPerIndex,
    managedBy,
    podReplacementPolicy,
    podFailurePolicy,
    successPolicy,
  } = spec
  const { restartPolicy } = template.spec
  const causes: Cause[] = []
  if (maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined)
    causes.push(required(at(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
  if (managedBy !== undefined)
    causes.push(
      ...domainPathFaults(at(path, "managedBy"), managedBy),
      ...(managedBy.length > LONGEST_MANAGER ? [tooLong(at(path, "managedBy"), LONGEST_MANAGER)] : []),
    )
  if (completionMode === "Indexed") causes.push(...validateIndexed(spec, path))
  else {
    if (backoffLimitPerIndex !== undefined)
      causes.push(
        invalidValue(at(path, "backoffLimitPerIndex"), backoffLimitPerIndex, "requires indexed completion mode"),
      )
    if (maxFailedIndexes !== undefined)
      causes.push(invalidValue(at(path, "maxFailedIndexes"), maxFailedIndexes, "requires indexed completion mode"))
  }
  if (podFailurePolicy !== undefined) causes.push(...validateFailurePolicy(spec, at(path, "podFailurePolicy", "rules")))
  if (successPolicy !== undefined)
    causes.push(
      ...(completionMode === "Indexed"
        ? validateSuccessPolicy(spec, at(path, "successPolicy", "rules"))
        : [invalidValue(at(path, "successPolicy"), successPolicy, "requires indexed completion mode")]),
    )
  if (podFailurePolicy !== undefined && podReplacementPolicy !== undefined && podReplacementPolicy !== "Failed")
    causes.push(notSupported(at(path, "podReplacementPolicy"), podReplacementPolicy, ["Failed"]))
  causes.push(...validateTemplate(template, at(path, "template")))
  const field = at(path, "template", "spec", "restartPolicy")
  if (restartPolicy === "Always") causes.push(required(field, 'valid values: "OnFailure", "Never"'))
  else if (podFailurePolicy !== undefined && restartPolicy !== "Never")
    causes.push(invalidValue(field, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified'))
  return causes
}

function validateIndexed(
  { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex }: JobSpec,
  path: string,
): readonly Cause[] {
  const causes: Cause[] = []
  const most = (field: string, value: number | undefined, limit: number, why: string) => {
    if ((value ?? 0) > limit)
      causes.push(invalidValue(at(path, field), value, `must be less than or equal to ${limit}${why}`))
  }
  if (completions === undefined) causes.push(required(at(path, "completions"), "when completion mode is Indexed"))
  most("parallelism", parallelism, MOST_INDEXES, " when completion mode is Indexed")
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
    causes.push(
      invalidValue(at(path, "maxFailedIndexes"), maxFailedIndexes, "must be less than or equal to completions"),
    )
  most("maxFailedIndexes", maxFailedIndexes, MOST_INDEXES, "")
  if ((completions ?? 0) <= MOST_INDEXES || backoffLimitPerIndex === undefined) return causes
  if (maxFailedIndexes === undefined)
    causes.push(required(at(path, "maxFailedIndexes"), `must be specified when completions is above ${MOST_INDEXES}`))
  const why = ` when completions are above ${MOST_INDEXES} and used with backoff limit per index`
  most("parallelism", parallelism, MOST_OF_MANY, why)
  most("maxFailedIndexes", maxFailedIndexes, MOST_OF_MANY, why)
  return causes
}

function validateFailurePolicy(
  { podFailurePolicy, template, backoffLimitPerIndex }: JobSpec,
  path: string,
): readonly Cause[] {
  const { rules } = podFailurePolicy!
  const containers = new Set(
    [...template.spec.containers, ...(template.spec.initContainers ?? [])].map(({ name }) => name),
  )
  const causes: Cause[] = rules.length > MOST_FAILURE_RULES ? [tooMany(path, rules.length, MOST_FAILURE_RULES)] : []
  for (const [i, { action, onExitCodes, onPodConditions = [] }] of rules.entries()) {
    const here = at(path, i)
    if (action === "FailIndex" && backoffLimitPerIndex === undefined)
      causes.push(invalidValue(at(here, "action"), action, "requires the backoffLimitPerIndex to be set"))
    if (onExitCodes !== undefined) causes.push(...validateExitCodes(onExitCodes, at(here, "onExitCodes"), containers))
    if (onPodConditions.length > MOST_CONDITIONS)
      causes.push(tooMany(at(here, "onPodConditions"), onPodConditions.length, MOST_CONDITIONS))
    for (const [j, { type, status }] of onPodConditions.entries()) {
      causes.push(...invalidValues(at(here, "onPodConditions", j, "type"), type, isQualifiedName(type)))
      if (!CONDITION_STATUSES.includes(status))
        causes.push(notSupported(at(here, "onPodConditions", j, "status"), status, CONDITION_STATUSES))
    }
    if (onExitCodes !== undefined && onPodConditions.length > 0)
      causes.push(invalidWithoutValue(here, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if (onExitCodes === undefined && onPodConditions.length === 0)
      causes.push(invalidWithoutValue(here, "specifying one of OnExitCodes and OnPodConditions is required"))
  }
  return causes
}
const CONDITION_STATUSES = ["False", "True", "Unknown"]

type ExitCodes = NonNullable<NonNullable<JobSpec["podFailurePolicy"]>["rules"][number]["onExitCodes"]>

function validateExitCodes(
  { containerName, operator, values }: ExitCodes,
  path: string,
  containers: ReadonlySet<string>,
): readonly Cause[] {
  const causes: Cause[] = []
  if (containerName !== undefined && !containers.has(containerName))
    causes.push(
      invalidValue(
        at(path, "containerName"),
        containerName,
        "must be one of the container or initContainer names in the pod template",
      ),
    )
  if (values.length > MOST_EXIT_CODES) causes.push(tooMany(at(path, "values"), values.length, MOST_EXIT_CODES))
  for (const [i, value] of values.entries()) {
    if (operator === "In" && value === 0)
      causes.push(invalidValue(at(path, "values", i), value, "must not be 0 for the In operator"))
    if (values.indexOf(value) !== i) causes.push(duplicate(at(path, "values", i), value))
  }
  if (values.some((value, i) => i > 0 && values[i - 1]! > value))
    causes.push(invalidValue(at(path, "values"), values, "must be ordered"))
  return causes
}

function validateSuccessPolicy({ successPolicy, completions = 0 }: JobSpec, path: string): readonly Cause[] {
  const { rules } = successPolicy!
  const causes: Cause[] = rules.length > MOST_SUCCESS_RULES ? [tooMany(path, rules.length, MOST_SUCCESS_RULES)] : []
  for (const [i, { succeededIndexes: indexes, succeededCount: count }] of rules.entries()) {
    const here = at(path, i)
    if (indexes === undefined && count === undefined)
      causes.push(required(here, "at least one of succeededCount or succeededIndexes must be specified"))
    const total = indexes === undefined ? undefined : countIndexes(indexes, completions)
    if ((indexes ?? "").length > LONGEST_INDEXES) causes.push(tooLong(at(here, "succeededIndexes"), LONGEST_INDEXES))
    if (typeof total === "string")
      causes.push(invalidValue(at(here, "succeededIndexes"), indexes, `error parsing succeededIndexes: ${total}`))
    const most = (limit: number, what: string) => {
      if (count !== undefined && count > limit)
        causes.push(
          invalidValue(
            at(here, "succeededCount"),
            count,
            `must be less than or equal to ${limit} (the number of ${what})`,
          ),
        )
    }
    most(completions, "specified completions")
    if (indexes !== undefined)
      most(typeof total === "number" ? total : 0, "indexes in the specified succeededIndexes field")
  }
  return causes
}

/** How many indexes a text such as `1,3-5` names, or what is wrong with it. Source: validateIndexesFormat. */
function countIndexes(text: string, completions: number): number | string {
  let [total, last] = [0, -1]
  for (const interval of text === "" ? [] : text.split(",")) {
    const ends = interval.split("-")
    if (ends.length > 2)
      return `the fragment ${JSON.stringify(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`
    for (const end of ends) {
      if (!/^[+-]?\d+$/.test(end)) return `cannot convert string to integer for index: ${JSON.stringify(end)}`
      if (Number(end) >= completions) return `too large index: ${JSON.stringify(end)}`
    }
    const [x, y] = [Number(ends[0]), Number(ends.at(-1))]
    if (ends.length === 2 && x >= y) return `non-increasing order, previous: ${x}, current: ${y}`
    if (last >= x) return `non-increasing order, previous: ${last}, current: ${x}`
    total += y - x + 1
    last = y
  }
  return total
}

const FIXED = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] as const

export function validateJobChange({ spec }: JobView, { spec: old, status }: JobView): readonly Cause[] {
  const causes: Cause[] = []
  const immutable = (field: string, value: unknown) => invalidValue(`spec.${field}`, value, "field is immutable")
  if (spec.completions !== old.completions) {
    if (spec.completionMode !== "Indexed" || spec.completions === undefined || old.completions === undefined)
      causes.push(immutable("completions", spec.completions))
    else if (spec.completions !== spec.parallelism)
      causes.push(
        invalidValue("spec.completions", spec.completions, "can only be modified in tandem with spec.parallelism"),
      )
  }
  if (!deepEqual(spec.selector, old.selector)) causes.push(immutable("selector", spec.selector))
  // a job that is held back and has never run may still be sent elsewhere
  const held = old.suspend === true && status.startTime === undefined
  if (!deepEqual(held ? placedAs(spec.template, old.template) : spec.template, old.template))
    causes.push(immutable("template", spec.template))
  for (const field of FIXED) if (!deepEqual(spec[field], old[field])) causes.push(immutable(field, spec[field]))
  return causes
}

/** A template with the scheduling directives of another. */
function placedAs(template: PodTemplateSpec, old: PodTemplateSpec): PodTemplateSpec {
  const { labels, annotations } = old.metadata
  const { nodeSelector, tolerations, schedulingGates } = old.spec
  const nodeAffinity = old.spec.affinity?.nodeAffinity
  const affinity =
    template.spec.affinity === undefined && nodeAffinity === undefined
      ? undefined
      : { ...template.spec.affinity, nodeAffinity }
  const same =
    affinity !== undefined &&
    old.spec.affinity === undefined &&
    Object.values(affinity).every((part) => part === undefined)
  return {
    metadata: { ...template.metadata, labels, annotations },
    spec: { ...template.spec, nodeSelector, tolerations, schedulingGates, affinity: same ? undefined : affinity },
  }
}

export function validateCronJob({ spec }: CronJobView, old: CronJobSpec | undefined): readonly Cause[] {
  const { schedule, timeZone, jobTemplate } = spec
  const causes: Cause[] = []
  const parsed = parseCron(schedule.replace(/^(CRON_)?TZ=\S+\s+/, ""))
  if (typeof parsed === "string") causes.push(invalidValue("spec.schedule", schedule, parsed))
  if (schedule.includes("TZ")) {
    if (old?.schedule.includes("TZ") !== true)
      causes.push(
        invalidValue("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
      )
    else if (timeZone !== undefined)
      causes.push(
        invalidValue("spec.schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"),
      )
  }
  if (timeZone !== undefined && timeZone !== old?.timeZone) causes.push(...validateTimeZone(timeZone))
  causes.push(...validateJobSpec(jobTemplate.spec, "spec.jobTemplate.spec"))
  if (jobTemplate.spec.selector !== undefined)
    causes.push(
      invalidValue("spec.jobTemplate.spec.selector", jobTemplate.spec.selector, "`selector` will be auto-generated"),
    )
  if (jobTemplate.spec.manualSelector === true)
    causes.push(notSupported("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"]))
  return causes
}

interface CronJobView {
  readonly metadata: ObjectMeta
  readonly spec: CronJobSpec
}

export const validateNewCronJob = ({ metadata: { name = "" } }: CronJobView): readonly Cause[] =>
  name.length > LONGEST_CRON_NAME
    ? [invalidValue("metadata.name", name, `must be no more than ${LONGEST_CRON_NAME} characters`)]
    : []

function validateTimeZone(timeZone: string): readonly Cause[] {
  const wrong = (why: string) => [invalidValue("spec.timeZone", timeZone, why)]
  if (timeZone === "") return wrong("timeZone must be nil or non-empty string")
  if (
    timeZone
      .split("/")
      .some((part) => part === "." || part === ".." || part.startsWith("-") || !/^[A-Za-z.\-_0-9+]{1,14}$/.test(part))
  )
    return wrong(`unknown time zone ${timeZone}`)
  if (timeZone.toLowerCase() === "local")
    return wrong("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
  try {
    new Intl.DateTimeFormat("en", { timeZone })
    return []
  } catch {
    return wrong(`unknown time zone ${timeZone}`)
  }
}
