import type { PodGroup } from "../../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { KindHooks } from "../context.ts"

/**
 * Without the gate WorkloadAwarePreemption the disruption mode cannot be changed at all: every stored group shows the
 * default. Source: k8s.io/api scheduling/v1alpha2/types.go `+k8s:ifDisabled(WorkloadAwarePreemption)=+k8s:forbidden`.
 */
export const withoutDisruptionMode: KindHooks<PodGroup> = {
  judges: (cause) =>
    cause.field === "spec.disruptionMode" ? { ...cause, reason: "FieldValueForbidden", message: "Forbidden" } : cause,
}
