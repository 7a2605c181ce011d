import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, required } from "../../../apimachinery/validation/field-errors.ts"
import { f, type ObjectOf, message } from "../../../apimachinery/fields.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"

/** Source: k8s.io/api flowcontrol/v1/types.go. The conditions of both kinds have the same fields. */
const fields = {
  type: f.string(1, "Which aspect of the state."),
  status: f.string(2, "Whether it holds: True, False or Unknown."),
  lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
  reason: f.string(4, "Reason of the condition, in one word."),
  message: f.string(5, "Why, in a sentence."),
}

export const FlowSchemaCondition = message(
  "flowcontrol.v1.FlowSchemaCondition",
  "An aspect of the state of a FlowSchema.",
  fields,
)
export interface FlowSchemaCondition extends ObjectOf<typeof FlowSchemaCondition> {}

export const PriorityLevelConfigurationCondition = message(
  "flowcontrol.v1.PriorityLevelConfigurationCondition",
  "An aspect of the state of a PriorityLevelConfiguration.",
  fields,
)

/** Returns the faults of the conditions of a status. Source: ValidateFlowSchemaStatus. */
export function conditionFaults(conditions: readonly FlowSchemaCondition[] = []): readonly Cause[] {
  const again = repeated(conditions, ({ type = "" }) => type)
  return conditions.flatMap(({ type = "" }, i) => [
    ...(again.has(i) ? [duplicate(at("status.conditions", i, "type"), type)] : []),
    ...(type === "" ? [required(at("status.conditions", i, "type"))] : []),
  ])
}
