import type { Cause } from "./errors.ts"
import { at, invalidValue, invalidValues, required, tooLong } from "./field-errors.ts"
import type { Condition } from "./meta.ts"
import { isQualifiedName, patternMessage } from "./names.ts"

const REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
const REASON_RULE =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
const reasonPattern = new RegExp(`^${REASON}$`)
const LONGEST_REASON = 1024
const LONGEST_MESSAGE = 32 * 1024

/**
 * What is wrong with conditions, for the kinds that look at them: most take what their controllers write. Source:
 * apimachinery pkg/apis/meta/v1/validation ValidateConditions.
 */
export const conditionFaults = (path: string, conditions: readonly Condition[] = []): readonly Cause[] =>
  conditions.flatMap((condition, i) => faultsOf(at(path, i), condition))

function faultsOf(path: string, { type, observedGeneration, reason, message }: Condition): readonly Cause[] {
  const causes: Cause[] = [...invalidValues(at(path, "type"), type, isQualifiedName(type))]
  if ((observedGeneration ?? 0) < 0)
    causes.push(
      invalidValue(at(path, "observedGeneration"), observedGeneration, "must be greater than or equal to zero"),
    )
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
