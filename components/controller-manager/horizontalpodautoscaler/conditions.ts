import type { HorizontalPodAutoscalerStatus } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscalerspec.ts"
import { setCondition } from "../../../pkg/apimachinery/conditions.ts"
import type { HorizontalPodAutoscalerCondition } from "../../../pkg/api/autoscaling/v2/metric-status.ts"

export type ConditionType = "AbleToScale" | "ScalingActive" | "ScalingLimited" | "ScaledToZero"

/** Returns the conditions with one of them set; its time changes with its status only. Source: setConditionInList. */
export function withCondition(
  { conditions = [] }: Pick<HorizontalPodAutoscalerStatus, "conditions">,
  wanted: Omit<HorizontalPodAutoscalerCondition, "lastTransitionTime" | "type"> & { readonly type: ConditionType },
  now: string,
): readonly HorizontalPodAutoscalerCondition[] {
  const old = conditions.find(({ type }) => type === wanted.type)
  const lastTransitionTime = old?.status === wanted.status ? old?.lastTransitionTime : now
  return setCondition(conditions, { ...wanted, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) })
}

export const withoutCondition = (
  { conditions = [] }: Pick<HorizontalPodAutoscalerStatus, "conditions">,
  unwanted: ConditionType,
): readonly HorizontalPodAutoscalerCondition[] => conditions.filter(({ type }) => type !== unwanted)
