import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { PodDisruptionBudget } from "../api/policy/v1/poddisruptionbudget.ts"
import { isPodTerminal } from "./pod-state.ts"

/** Whether a pod is evicted without a check of budgets: it does not run yet, has ended, or is being deleted. */
export const ignoresBudgets = (pod: Pod): boolean =>
  isPodTerminal(pod) || pod.status.phase === "Pending" || pod.metadata.deletionTimestamp !== undefined

/**
 * Whether a pod that is not ready is evicted without counting against the budget: by default while the budget is met,
 * always with unhealthyPodEvictionPolicy AlwaysAllow.
 */
export const mayGoUnready = ({ spec, status }: PodDisruptionBudget): boolean =>
  spec.unhealthyPodEvictionPolicy === "AlwaysAllow" ||
  (status.currentHealthy >= status.desiredHealthy && status.desiredHealthy > 0)
