import {
  CustomResourceDefinition,
  type CustomResourceDefinitionCondition,
} from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { trackUpdate } from "../../../pkg/apimachinery/patch/apply/track.ts"

export type Condition = Omit<CustomResourceDefinitionCondition, "lastTransitionTime">

export const conditionOf = (
  { status }: CustomResourceDefinition,
  type: string,
): CustomResourceDefinitionCondition | undefined => status.conditions?.find((condition) => condition.type === type)

/** Whether a condition says what is known already, apart from its time. */
export const saysTheSame = (known: Condition | undefined, condition: Condition): boolean =>
  known?.status === condition.status && known.reason === condition.reason && known.message === condition.message

/** A definition with a condition set; the time changes with the status. Source: apihelpers SetCRDCondition. */
export function withCondition(
  definition: CustomResourceDefinition,
  condition: Condition,
  now: string,
): CustomResourceDefinition {
  const { conditions } = definition.status
  const known = conditions?.find(({ type }) => type === condition.type)
  const lastTransitionTime = known?.status === condition.status ? (known.lastTransitionTime ?? now) : now
  const next = { ...known, ...condition, lastTransitionTime }
  const all =
    known === undefined
      ? [...(conditions ?? []), next]
      : conditions!.map((each) => (each.type === condition.type ? next : each))
  return { ...definition, status: { ...definition.status, conditions: all } }
}

/** A definition whose status the server itself changes, as its managedFields tell of it. */
export const asWritten = (
  old: CustomResourceDefinition,
  next: CustomResourceDefinition,
  now: string,
): CustomResourceDefinition =>
  trackUpdate(CustomResourceDefinition, old, next, { manager: "kube-apiserver", subresource: "status", now })
