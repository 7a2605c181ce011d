/**
 * Autoscalers with minReplicas 0, which scale to none and back: the feature gate HPAScaleToZero. Without pods there are
 * no metrics of pods, so such an autoscaler needs one of something else. Source: pkg/controller/podautoscaler.
 */
import type { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { HorizontalPodAutoscalerStatus } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscalerspec.ts"

type Spec = HorizontalPodAutoscaler["spec"]

/** Whether the workload has no replicas because this autoscaler wanted none, and not because a user did. */
export const hasScaledToZero = ({ conditions = [] }: Pick<HorizontalPodAutoscalerStatus, "conditions">): boolean =>
  conditions.some(({ type, status }) => type === "ScaledToZero" && status === "True")

/** Whether an autoscaler can bring back a workload that it has scaled to none. */
export const canScaleFromZero = (spec: Spec): boolean => spec.minReplicas !== 0 || hasMetricWithoutPods(spec)

/** Returns the condition after a change of the scale. */
export function zeroCondition(spec: Spec, current: number, desired: number) {
  const type = "ScaledToZero" as const
  return current > 0 && desired === 0 && spec.minReplicas === 0 && hasMetricWithoutPods(spec)
    ? ({ type, status: "True", reason: type, message: "the HPA controller scaled the workload to zero" } as const)
    : ({ type, status: "False", reason: "NotScaledToZero", message: NOT_SCALED } as const)
}

const hasMetricWithoutPods = ({ metrics = [] }: Spec): boolean =>
  metrics.some(({ type }) => type === "Object" || type === "External")

const NOT_SCALED = "the HPA controller did not scale the workload to zero"
