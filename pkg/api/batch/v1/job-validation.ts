import { domainPathFaults } from "../../../apimachinery/validation/domain-path.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from "../../../apimachinery/validation/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { isDNS1123Label } from "../../../apimachinery/validation/names.ts"
import { matcherFor, validateMatches, validateTemplate } from "../../core/v1/podtemplate/template-validation.ts"
import { validateFailurePolicy, validateSuccessPolicy } from "./job-policy-validation.ts"
import { SuccessPolicy, type JobSpec } from "./jobspec.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Rules of jobs. Source: ValidateJob in pkg/apis/batch/validation/validation.go and pkg/registry/batch/job/strategy.go.
 */
interface JobView {
  readonly metadata: ObjectMeta
  readonly spec: JobSpec
}

const MOST_INDEXES = 100_000
/** For Jobs with more indexes than this, parallelism and failed indexes have lower limits. */
const MOST_OF_MANY = 10_000
const LONGEST_MANAGER = 63
const REPLACEMENTS = ["Failed", "TerminatingOrFailed"]
const RESTARTS = ["OnFailure", "Never"]

export function validateJob({ spec }: JobView): readonly Cause[] {
  const { selector, template } = spec
  const causes: Cause[] = [...validateJobSpec(spec, "spec")]
  if (selector === undefined) causes.push(required("spec.selector"))
  else pushAll(causes, labelSelectorFaults("spec.selector", selector))
  return [...causes, ...validateMatches(matcherFor(selector), template, "spec.template")]
}

/** Validates the names and labels that a Job gives its pods. */
export const generatedFaults = (job: JobView, old: JobView | undefined): readonly Cause[] => [
  ...validateGeneratedSelector(job, old),
  ...validateIndexedName(job),
]

/** The names of an Indexed Job's pods have its name and their index, and must be valid as a label. */
function validateIndexedName({ metadata: { name = "" }, spec }: JobView): readonly Cause[] {
  const { completions = 0, completionMode } = spec
  if (completionMode !== "Indexed" || completions <= 0) return []
  const longest = `${name}-${completions - 1}`
  return isDNS1123Label(longest) === undefined
    ? []
    : [invalidValue("metadata.name", name, `will not able to create pod with invalid DNS label: ${longest}`)]
}

const PREFIXED = "batch.kubernetes.io/"

/**
 * Unless the user manages the selector, a job's pods have its name and uid as labels, and the selector selects only
 * these labels. Jobs from before the labels had a prefix have older labels. Source: validateGeneratedSelector.
 */
function validateGeneratedSelector(
  { metadata: { name = "", uid = "" }, spec: { selector, template, manualSelector } }: JobView,
  old: JobView | undefined,
): readonly Cause[] {
  if (manualSelector === true || selector === undefined) return []
  const before = old === undefined ? undefined : (old.spec.template.metadata.labels ?? {})
  const prefixed = before === undefined || (`${PREFIXED}job-name` in before && `${PREFIXED}controller-uid` in before)
  const expected: Readonly<Record<string, string>> = {
    "controller-uid": uid,
    "job-name": name,
    ...(prefixed && { [`${PREFIXED}controller-uid`]: uid, [`${PREFIXED}job-name`]: name }),
  }
  const { labels = {} } = template.metadata
  const causes = Object.entries(expected).flatMap(([key, value]) => {
    const field = atKey("spec.template.metadata.labels", key)
    if (labels[key] === undefined) return [required(field, `must be '${value}'`)]
    return labels[key] === value ? [] : [invalidValue(field, labels, `must be '${value}'`)]
  })
  return matcherFor(selector)?.matches(expected) === false
    ? [...causes, invalidValue("spec.selector", selector, "`selector` not auto-generated")]
    : causes
}

/** Validates the spec of a Job, or of a CronJob's template. */
export function validateJobSpec(spec: JobSpec, path: string): readonly Cause[] {
  const { template, completionMode, maxFailedIndexes, backoffLimitPerIndex, managedBy, podFailurePolicy } = spec
  const causes: Cause[] = []
  if (maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined)
    causes.push(required(at(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
  if (managedBy !== undefined)
    pushAll(
      causes,
      domainPathFaults(at(path, "managedBy"), managedBy),
      managedBy.length > LONGEST_MANAGER ? [tooLong(at(path, "managedBy"), LONGEST_MANAGER)] : [],
    )
  if (completionMode === "Indexed") pushAll(causes, validateIndexed(spec, path))
  else if (completionMode === undefined || completionMode === "NonIndexed") {
    if (backoffLimitPerIndex !== undefined)
      causes.push(
        invalidValue(at(path, "backoffLimitPerIndex"), backoffLimitPerIndex, "requires indexed completion mode"),
      )
    if (maxFailedIndexes !== undefined)
      causes.push(invalidValue(at(path, "maxFailedIndexes"), maxFailedIndexes, "requires indexed completion mode"))
  }
  if (podFailurePolicy !== undefined)
    pushAll(causes, validateFailurePolicy(spec, at(path, "podFailurePolicy", "rules")))
  if (spec.successPolicy !== undefined)
    pushAll(
      causes,
      completionMode === "Indexed"
        ? validateSuccessPolicy(spec, at(path, "successPolicy", "rules"))
        : [
            invalidValue(
              at(path, "successPolicy"),
              goForm(SuccessPolicy, spec.successPolicy),
              "requires indexed completion mode",
            ),
          ],
    )
  pushAll(causes, validateReplacement(spec, at(path, "podReplacementPolicy")))
  pushAll(causes, validateTemplate(template, at(path, "template")))
  pushAll(causes, validateRestart(spec, at(path, "template", "spec", "restartPolicy")))
  return causes
}

function validateReplacement(
  { podReplacementPolicy: policy, podFailurePolicy }: JobSpec,
  path: string,
): readonly Cause[] {
  const allowed = podFailurePolicy === undefined ? REPLACEMENTS : ["Failed"]
  return policy === undefined || allowed.includes(policy) ? [] : [notSupported(path, policy, allowed)]
}

function validateRestart({ template, podFailurePolicy }: JobSpec, path: string): readonly Cause[] {
  const { restartPolicy = "" } = template.spec
  if (restartPolicy === "Always" || restartPolicy === "") return [required(path, 'valid values: "OnFailure", "Never"')]
  if (!RESTARTS.includes(restartPolicy)) return [notSupported(path, restartPolicy, RESTARTS)]
  return podFailurePolicy !== undefined && restartPolicy !== "Never"
    ? [invalidValue(path, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified')]
    : []
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
