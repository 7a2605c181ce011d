import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  invalidWithoutValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"
import { countIndexes } from "./job-indexes.ts"
import type { JobSpec, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule } from "./jobspec.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Validates the rules for the early failure or success of a job. Source: validatePodFailurePolicy and
 * validateSuccessPolicy in pkg/apis/batch/validation/validation.go.
 */

const MOST_FAILURE_RULES = 20
const MOST_EXIT_CODES = 255
const MOST_CONDITIONS = 20
const MOST_SUCCESS_RULES = 20
const LONGEST_INDEXES = 64 * 1024

const ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"]
const CONDITION_STATUSES = ["False", "True", "Unknown"]
const OPERATORS = ["In", "NotIn"]

export function validateFailurePolicy(
  { podFailurePolicy, template, backoffLimitPerIndex }: JobSpec,
  path: string,
): readonly Cause[] {
  const rules = podFailurePolicy?.rules ?? []
  const containers = new Set(
    [...(template.spec.containers ?? []), ...(template.spec.initContainers ?? [])].map(({ name }) => name),
  )
  const causes: Cause[] = rules.length > MOST_FAILURE_RULES ? [tooMany(path, rules.length, MOST_FAILURE_RULES)] : []
  for (const [i, rule] of rules.entries()) {
    const { action, onExitCodes, onPodConditions = [] } = rule
    const here = at(path, i)
    if (action === "FailIndex") {
      if (backoffLimitPerIndex === undefined)
        causes.push(invalidValue(at(here, "action"), action, "requires the backoffLimitPerIndex to be set"))
    } else pushAll(causes, oneOf(at(here, "action"), action, ACTIONS))
    if (onExitCodes !== undefined) pushAll(causes, validateExitCodes(onExitCodes, at(here, "onExitCodes"), containers))
    pushAll(causes, validateConditions(onPodConditions, at(here, "onPodConditions")))
    if (onExitCodes !== undefined && onPodConditions.length > 0)
      causes.push(invalidWithoutValue(here, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if (onExitCodes === undefined && onPodConditions.length === 0)
      causes.push(invalidWithoutValue(here, "specifying one of OnExitCodes and OnPodConditions is required"))
  }
  return causes
}

/** Returns the faults of a required value out of a few allowed ones. The message lists these in Go's form. */
function oneOf(field: string, value: string | undefined, allowed: readonly string[]): readonly Cause[] {
  if (value === undefined || value === "")
    return [required(field, `valid values: [${allowed.map((each) => JSON.stringify(each)).join(" ")}]`)]
  return allowed.includes(value) ? [] : [notSupported(field, value, allowed)]
}

function validateConditions(
  patterns: NonNullable<PodFailurePolicyRule["onPodConditions"]>,
  path: string,
): readonly Cause[] {
  const causes: Cause[] = patterns.length > MOST_CONDITIONS ? [tooMany(path, patterns.length, MOST_CONDITIONS)] : []
  for (const [i, { type = "", status }] of patterns.entries())
    pushAll(
      causes,
      invalidValues(at(path, i, "type"), type, isQualifiedName(type)),
      oneOf(at(path, i, "status"), status, CONDITION_STATUSES),
    )
  return causes
}

function validateExitCodes(
  { containerName, operator, values: given }: PodFailurePolicyOnExitCodesRequirement,
  path: string,
  containers: ReadonlySet<string>,
): readonly Cause[] {
  // A required list may be absent; the message then shows null.
  const values: readonly number[] = given ?? []
  const causes: Cause[] = [...oneOf(at(path, "operator"), operator, OPERATORS)]
  if (containerName !== undefined && !containers.has(containerName))
    causes.push(
      invalidValue(
        at(path, "containerName"),
        containerName,
        "must be one of the container or initContainer names in the pod template",
      ),
    )
  if (values.length === 0) causes.push(invalidValue(at(path, "values"), given, "at least one value is required"))
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

export function validateSuccessPolicy({ successPolicy, completions = 0 }: JobSpec, path: string): readonly Cause[] {
  const { rules = [] } = successPolicy ?? {}
  const causes: Cause[] =
    rules.length === 0
      ? [required(path, "at least one rules must be specified when the successPolicy is specified")]
      : rules.length > MOST_SUCCESS_RULES
        ? [tooMany(path, rules.length, MOST_SUCCESS_RULES)]
        : []
  for (const [i, { succeededIndexes: indexes, succeededCount: count }] of rules.entries()) {
    const here = at(path, i)
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
    if (indexes === undefined && count === undefined)
      causes.push(required(here, "at least one of succeededCount or succeededIndexes must be specified"))
    const total = indexes === undefined ? undefined : countIndexes(indexes, completions)
    if ((indexes ?? "").length > LONGEST_INDEXES) causes.push(tooLong(at(here, "succeededIndexes"), LONGEST_INDEXES))
    if (typeof total === "string")
      causes.push(invalidValue(at(here, "succeededIndexes"), indexes, `error parsing succeededIndexes: ${total}`))
    if (count !== undefined && count < 0)
      causes.push(invalidValue(at(here, "succeededCount"), count, "must be greater than or equal to 0"))
    most(completions, "specified completions")
    if (indexes !== undefined)
      most(typeof total === "number" ? total : 0, "indexes in the specified succeededIndexes field")
  }
  return causes
}
