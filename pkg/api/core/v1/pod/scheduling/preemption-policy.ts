import type { Cause } from "../../../../../apimachinery/errors.ts"
import { NO_CAUSES, notSupported, required } from "../../../../../apimachinery/validation/field-errors.ts"

const POLICIES: readonly string[] = ["Never", "PreemptLowerPriority"]

/**
 * Returns the faults of the preemption policy of a pod or a PriorityClass. Source: ValidatePreemptionPolicy in
 * pkg/apis/core/validation/validation.go.
 */
export const preemptionPolicyFaults = (field: string, policy: string): readonly Cause[] =>
  policy === ""
    ? [required(field)]
    : POLICIES.includes(policy)
      ? NO_CAUSES
      : [notSupported(field, policy, ["PreemptLowerPriority", "Never"])]
