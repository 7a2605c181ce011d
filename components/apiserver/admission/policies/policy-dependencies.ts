import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { MatchConditionMetrics } from "./match-condition-metrics.ts"
import type { PolicyMetrics } from "./metrics.ts"

/** What the evaluation of policies needs beside the context of all plugins. */
export interface PolicyDependencies {
  readonly scheme: Scheme
  readonly metrics: PolicyMetrics
  readonly conditions: MatchConditionMetrics
}
