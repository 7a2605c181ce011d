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
  return {
    checked({ policy, binding, error, action, seconds }) {
      checks.with(action, error, policy, binding).inc()
      checkSeconds.with(action, error, policy, binding).observe(seconds)
    },
    mutated({ policy, binding, error, seconds }) {
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
