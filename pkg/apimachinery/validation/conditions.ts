import type { Cause } from "../errors.ts"
import { at, duplicate, invalidValue, invalidValues, notSupported, required, tooLong } from "./field-errors.ts"
import type { Condition } from "../meta.ts"
import { repeated } from "./repeated.ts"
import { isQualifiedName, patternMessage } from "./names.ts"

const REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
const REASON_RULE =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric " +
  "characters or '_,:', and must end with an alphanumeric character or '_'"
const reasonPattern = new RegExp(`^${REASON}$`)
const LONGEST_REASON = 1024
const LONGEST_MESSAGE = 32 * 1024

/**
 * Returns the faults of conditions, for the few kinds whose conditions are validated. Source: apimachinery
 * pkg/apis/meta/v1/validation ValidateConditions.
 */
export function conditionFaults(path: string, conditions: readonly Condition[] = []): readonly Cause[] {
  const again = repeated(conditions, ({ type }) => type)
  return conditions.flatMap((condition, i) => [
    ...(again.has(i) ? [duplicate(at(path, i, "type"), condition.type)] : []),
    ...faultsOf(at(path, i), condition),
  ])
}

const STATUSES: readonly string[] = ["False", "True", "Unknown"]

function faultsOf(path: string, condition: Condition): readonly Cause[] {
  const { type, status, observedGeneration, lastTransitionTime, reason, message } = condition
  const causes: Cause[] = [...invalidValues(at(path, "type"), type, isQualifiedName(type))]
  if (!STATUSES.includes(status)) causes.push(notSupported(at(path, "status"), status, STATUSES))
  if ((observedGeneration ?? 0) < 0)
    causes.push(
      invalidValue(at(path, "observedGeneration"), observedGeneration, "must be greater than or equal to zero"),
    )
  if (lastTransitionTime === null) causes.push(required(at(path, "lastTransitionTime")))
  if (reason === "") causes.push(required(at(path, "reason")))
  else if (!reasonPattern.test(reason))
    causes.push(
      invalidValue(
        at(path, "reason"),
        reason,
        patternMessage(REASON_RULE, REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"),
      ),
    )
  if (reason.length > LONGEST_REASON) causes.push(tooLong(at(path, "reason"), LONGEST_REASON))
  if (message.length > LONGEST_MESSAGE) causes.push(tooLong(at(path, "message"), LONGEST_MESSAGE))
  return causes
}
