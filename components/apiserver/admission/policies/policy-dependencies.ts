import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { MatchConditionMetrics } from "./match-condition-metrics.ts"
import type { PolicyMetrics } from "./metrics.ts"

/** What evaluating policies takes beside what every plugin has. */
export interface PolicyDependencies {
  readonly scheme: Scheme
  readonly metrics: PolicyMetrics
  readonly conditions: MatchConditionMetrics
}
