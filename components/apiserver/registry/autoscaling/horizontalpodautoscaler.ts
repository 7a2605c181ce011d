import type { HorizontalPodAutoscaler } from "../../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { KindHooks } from "../context.ts"

/**
 * Lets autoscalers scale to none, which needs the feature gate HPAScaleToZero. Source:
 * pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go.
 */
export const scalingToZero: KindHooks<HorizontalPodAutoscaler> = {
  judges: (cause) =>
    cause.field === "spec.minReplicas" && cause.message.startsWith("Invalid value: 0:") ? undefined : cause,
}
