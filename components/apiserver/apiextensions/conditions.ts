import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { CustomResourceDefinitionCondition } from "../../../pkg/api/apiextensions/v1/customresourcedefinitionstatus.ts"
import { setCondition } from "../../../pkg/apimachinery/conditions.ts"
import { trackUpdate } from "../../../pkg/apimachinery/patch/apply/track.ts"

export type Condition = Omit<CustomResourceDefinitionCondition, "lastTransitionTime">

export const conditionOf = (
  { status }: CustomResourceDefinition,
  type: string,
): CustomResourceDefinitionCondition | undefined => status.conditions?.find((condition) => condition.type === type)

/** Whether two conditions are equal apart from lastTransitionTime. */
export const saysTheSame = (known: Condition | undefined, condition: Condition): boolean =>
  known?.status === condition.status && known.reason === condition.reason && known.message === condition.message

/**
 * Returns the definition with a condition set; lastTransitionTime changes only with the status. Source: apihelpers
 * SetCRDCondition.
 */
export function withCondition(
  definition: CustomResourceDefinition,
  condition: Condition,
  now: string,
): CustomResourceDefinition {
  const known = conditionOf(definition, condition.type)
  const lastTransitionTime = known?.status === condition.status ? (known.lastTransitionTime ?? now) : now
  const conditions = setCondition(definition.status.conditions ?? [], { ...known, ...condition, lastTransitionTime })
  return { ...definition, status: { ...definition.status, conditions } }
}

/** Returns the definition after a change of its status by the server, which is recorded in managedFields. */
export const asWritten = (
  old: CustomResourceDefinition,
  next: CustomResourceDefinition,
  now: string,
): CustomResourceDefinition =>
  trackUpdate(CustomResourceDefinition, old, next, { manager: "kube-apiserver", subresource: "status", now })
