import type { PolicyCase } from "./builders.ts"
import { declaredPolicies } from "./declared-policies.ts"
import { onConfigMaps, onOthers, onPods } from "./mutated-objects.ts"
import { mutatingPolicies } from "./mutating-policies.ts"
import { validatingPolicies } from "./validating-policies.ts"

/** The policies, and the requests to them, whose responses are compared with those of Kubernetes. */
export const CASES: readonly PolicyCase[] = [
  ...onConfigMaps,
  ...onPods,
  ...onOthers,
  ...mutatingPolicies,
  ...validatingPolicies,
  ...declaredPolicies,
]
