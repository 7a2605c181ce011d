import type { Cause } from "../errors.ts"
import { at, forbiddenField, invalidValue, invalidValues, required } from "../validation/field-errors.ts"
import type { LabelSelector, LabelSelectorRequirement } from "../meta.ts"
import { isLabelValue, isQualifiedName } from "../validation/names.ts"
import { validateLabels } from "../validation/objectmeta.ts"
import { pushAll } from "../../lists/push-all.ts"

/**
 * Returns the faults of a label selector at a path. Source: apimachinery pkg/apis/meta/v1/validation
 * ValidateLabelSelector.
 */
export function labelSelectorFaults(
  path: string,
  { matchLabels, matchExpressions = [] }: LabelSelector,
): readonly Cause[] {
  return [
    ...validateLabels(matchLabels, at(path, "matchLabels")),
    ...matchExpressions.flatMap((requirement, i) => requirementFaults(at(path, "matchExpressions", i), requirement)),
  ]
}

/**
 * Returns the faults of one requirement of a label selector at a path. Source: ValidateLabelSelectorRequirement.
 * @param takesAnyOperator whether an unknown operator is accepted, because it may be one of a newer client
 */
export function requirementFaults(
  here: string,
  { key, operator, values = [] }: LabelSelectorRequirement,
  takesAnyOperator = false,
): readonly Cause[] {
  const causes: Cause[] = [...operatorFaults(here, operator, values, takesAnyOperator)]
  pushAll(causes, invalidValues(at(here, "key"), key, isQualifiedName(key)))
  for (const [j, value] of values.entries())
    pushAll(causes, invalidValues(at(here, "values", j), value, isLabelValue(value)))
  return causes
}

/** Returns the faults of an operator and its values. */
export function operatorFaults(
  here: string,
  operator: string,
  values: readonly string[],
  takesAnyOperator: boolean,
): readonly Cause[] {
  if (operator === "In" || operator === "NotIn")
    return values.length > 0
      ? []
      : [required(at(here, "values"), "must be specified when `operator` is 'In' or 'NotIn'")]
  if (operator === "Exists" || operator === "DoesNotExist")
    return values.length === 0
      ? []
      : [forbiddenField(at(here, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
  return takesAnyOperator ? [] : [invalidValue(at(here, "operator"), operator, "not a valid selector operator")]
}
