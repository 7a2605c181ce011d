import type { Cause } from "./errors.ts"
import { at, forbiddenField, invalidValue, invalidValues, required } from "./field-errors.ts"
import type { LabelSelector } from "./meta.ts"
import { isLabelValue, isQualifiedName } from "./names.ts"
import { validateLabels } from "./objectmeta.ts"

/**
 * Returns the faults of a label selector at a path. Source: apimachinery pkg/apis/meta/v1/validation
 * ValidateLabelSelector.
 */
export function labelSelectorFaults(
  path: string,
  { matchLabels, matchExpressions = [] }: LabelSelector,
): readonly Cause[] {
  const causes: Cause[] = [...validateLabels(matchLabels, at(path, "matchLabels"))]
  for (const [i, { key, operator, values = [] }] of matchExpressions.entries()) {
    const here = at(path, "matchExpressions", i)
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0)
        causes.push(required(at(here, "values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0)
        causes.push(
          forbiddenField(at(here, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        )
    } else causes.push(invalidValue(at(here, "operator"), operator, "not a valid selector operator"))
    causes.push(...invalidValues(at(here, "key"), key, isQualifiedName(key)))
    for (const [j, value] of values.entries())
      causes.push(...invalidValues(at(here, "values", j), value, isLabelValue(value)))
  }
  return causes
}
