import type { HPAScalingRules } from "../../../../pkg/api/autoscaling/v2/metrics.ts"

export const NOW = 10_000_000
export interface Policies {
  /** Replicas, and in how many seconds. */
  readonly pods?: readonly [number, number]
  /** Percent, and in how many seconds. */
  readonly percent?: readonly [number, number]
  readonly select?: "Min" | "Max" | "Disabled"
  readonly window?: number
}
export const rulesOf = ({ pods, percent, select = "Max", window = 0 }: Policies): HPAScalingRules => ({
  stabilizationWindowSeconds: window,
  selectPolicy: select,
  policies: [
    ...(pods === undefined ? [] : [{ type: "Pods", value: pods[0], periodSeconds: pods[1] }]),
    ...(percent === undefined ? [] : [{ type: "Percent", value: percent[0], periodSeconds: percent[1] }]),
  ],
})
