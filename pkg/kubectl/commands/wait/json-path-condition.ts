import type { Condition } from "./conditions.ts"

/** `{.status.phase}=Running`, or a JSONPath alone, which must have a value. */
export function jsonPathCondition(text: string): Condition {
  throw new Error(`the condition jsonpath=${text} is not there yet`)
}
