import { Registry } from "../../../../pkg/metrics/registry.ts"
import type { Operation } from "../../webhooks/review.ts"

/**
 * Labels of a metric: the webhook or policy whose match conditions were evaluated, and the operation. `type` is
 * upstream's label for the step of admission.
 */
export interface ConditionsOf {
  readonly name: string
  readonly kind: "webhook" | "policy"
  readonly type: "admit" | "validating" | "validate"
  readonly operation: Operation
}

/** Metrics of match conditions, with upstream's names. Source: apiserver pkg/admission/metrics/metrics.go. */
export interface MatchConditionMetrics {
  /** Records an evaluation in which not all conditions were true. `errors` counts the conditions that failed. */
  evaluated(of: ConditionsOf, result: { readonly seconds: number; readonly errors: number }): void
  /** Records that a webhook was not called since one of its match conditions is false. */
  excluded(of: ConditionsOf): void
}

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25]
const LABELS = ["kind", "name", "operation", "type"] as const

export function matchConditionMetrics(registry: Registry = new Registry()): MatchConditionMetrics {
  const errorsOf = registry.counter(
    "apiserver_admission_match_condition_evaluation_errors_total",
    "Match conditions that could not be evaluated, by webhook or policy and operation.",
    ...LABELS,
  )
  const exclusions = registry.counter(
    "apiserver_admission_match_condition_exclusions_total",
    "Requests for which a webhook was not called because of its match conditions.",
    ...LABELS,
  )
  const duration = registry.histogram(
    "apiserver_admission_match_condition_evaluation_seconds",
    "Seconds that match conditions took, by webhook or policy and operation.",
    BUCKETS,
    ...LABELS,
  )
  return {
    evaluated({ kind, name, operation, type }, { seconds, errors }) {
      duration.with(kind, name, operation, type).observe(seconds)
      if (errors > 0) errorsOf.with(kind, name, operation, type).inc(errors)
    },
    excluded({ kind, name, operation, type }) {
      exclusions.with(kind, name, operation, type).inc()
    },
  }
}
