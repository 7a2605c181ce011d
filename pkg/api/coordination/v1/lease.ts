import type { Cause } from "../../../apimachinery/errors.ts"
import { forbiddenField, invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { pushAll } from "../../../lists/push-all.ts"
import { strategyFaults } from "./strategy.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api coordination/v1/types.go, pkg/apis/coordination/validation. */

export const LeaseSpec = message("coordination.v1.LeaseSpec", "The holder of a lease, and its duration.", {
  holderIdentity: f.string(1, "Identity of the holder.").pointer(),
  leaseDurationSeconds: f.int32(2, "Seconds after renewTime from which others may take it.").pointer(),
  acquireTime: f.microTime(3, "Time at which the holder got the lease."),
  renewTime: f.microTime(4, "Time at which the holder last renewed the lease."),
  leaseTransitions: f.int32(5, "How often the holder changed.").pointer(),
  strategy: f.string(6, "How the holder is chosen, in coordinated leader election.").pointer(),
  preferredHolder: f.string(7, "Identity of the preferred next holder.").pointer(),
})
export interface LeaseSpec extends ObjectOf<typeof LeaseSpec> {}

const fields = {
  spec: f.message(2, LeaseSpec, "Identity of the holder.").always(),
}
export interface Lease extends ObjectFor<typeof fields> {}

export const Lease = defineResource(
  {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
    scope: "Namespaced",
    upstreamChecks: { plainFinalizers: true },
    doc: "Held by one at a time: for heartbeats and leader election.",
    highChurn: true,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    columns: [
      {
        name: "Holder",
        type: "string",
        doc: "Identity of the holder.",
        value: ({ spec }) => spec.holderIdentity ?? "",
      },
    ],
    validateSpec: ({ spec }) => leaseFaults(spec),
  },
  fields,
)

function leaseFaults({
  leaseDurationSeconds,
  leaseTransitions,
  preferredHolder,
  strategy,
}: LeaseSpec): readonly Cause[] {
  const causes: Cause[] = []
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0)
    causes.push(invalidValue("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0"))
  if (leaseTransitions !== undefined && leaseTransitions < 0)
    causes.push(invalidValue("spec.leaseTransitions", leaseTransitions, "must be greater than or equal to 0"))
  if (strategy !== undefined) pushAll(causes, strategyFaults(strategy))
  if (preferredHolder !== undefined && preferredHolder !== "" && !strategy)
    causes.push(forbiddenField("spec.preferredHolder", "may only be specified if `strategy` is defined"))
  return causes
}
