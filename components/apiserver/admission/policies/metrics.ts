import { Registry } from "../../../../pkg/metrics/registry.ts"

/** How the evaluation of an expression ended. */
export type PolicyError = "no_error" | "compile_error" | "out_of_budget" | "invalid_error"

/** What was done after a validation was evaluated. */
export type Enforcement = "allow" | "deny" | "audit" | "warn"

/**
 * Metrics of admission policies, with upstream's names. Source: apiserver
 * pkg/admission/plugin/policy/{validating,mutating}/metrics/metrics.go.
 */
export interface PolicyMetrics {
  /** Notes the seconds that the expressions of a policy took to compile. */
  compiled(seconds: number): void
  checked(check: {
    readonly policy: string
    readonly binding: string
    readonly error: PolicyError
    readonly action: Enforcement
    readonly seconds: number
  }): void
  mutated(mutation: {
    readonly policy: string
    readonly binding: string
    readonly error: PolicyError
    readonly seconds: number
  }): void
}

/** Prometheus' own. */
const CEL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const BUCKETS = [0.0000005, 0.001, 0.01, 0.1, 1]

export function policyMetrics(registry: Registry = new Registry()): PolicyMetrics {
  const checks = registry.counter(
    "apiserver_validating_admission_policy_check_total",
    "Conditions of validating policies that were evaluated, by policy, binding and what followed.",
    "enforcement_action",
    "error_type",
    "policy",
    "policy_binding",
  )
  const checkSeconds = registry.histogram(
    "apiserver_validating_admission_policy_check_duration_seconds",
    "Seconds that conditions of validating policies took.",
    BUCKETS,
    "enforcement_action",
    "error_type",
    "policy",
    "policy_binding",
  )
  const mutations = registry.counter(
    "apiserver_mutating_admission_policy_check_total",
    "Mutations of mutating policies that were evaluated, by policy and binding.",
    "error_type",
    "policy",
    "policy_binding",
  )
  const mutationSeconds = registry.histogram(
    "apiserver_mutating_admission_policy_check_duration_seconds",
    "Seconds that mutations of mutating policies took.",
    BUCKETS,
    "error_type",
    "policy",
    "policy_binding",
  )
  // Source: apiserver pkg/cel/metrics/metrics.go.
  const compilation = registry
    .histogram("apiserver_cel_compilation_duration_seconds", "CEL compilation time in seconds.", CEL_BUCKETS)
    .with()
  const evaluation = registry
    .histogram("apiserver_cel_evaluation_duration_seconds", "CEL evaluation time in seconds.", CEL_BUCKETS)
    .with()
  return {
    compiled: (seconds) => compilation.observe(seconds),
    checked({ policy, binding, error, action, seconds }) {
      evaluation.observe(seconds)
      checks.with(action, error, policy, binding).inc()
      checkSeconds.with(action, error, policy, binding).observe(seconds)
    },
    mutated({ policy, binding, error, seconds }) {
      evaluation.observe(seconds)
      mutations.with(error, policy, binding).inc()
      mutationSeconds.with(error, policy, binding).observe(seconds)
    },
  }
}

/** Classifies an error by its message. Source: policy/validating/errors.go, policy/mutating/errors.go ErrorType. */
export function errorType(message: string): PolicyError {
  if (message.startsWith("compilation")) return "compile_error"
  return message.startsWith("validation failed due to running out of cost budget") ? "out_of_budget" : "invalid_error"
}
