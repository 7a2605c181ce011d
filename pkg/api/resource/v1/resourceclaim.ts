import { goForm } from "../../../apimachinery/go/go-form.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { invalidValue, within } from "../../../apimachinery/validation/field-errors.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { withMetadataOf } from "../../status-metadata.ts"
import { ResourceClaimStatus } from "./allocation.ts"
import { claimStatusFaults, deviceKey } from "./allocation-validation.ts"
import { ResourceClaimSpec } from "./deviceclaim.ts"
import { deviceClaimFaults, requestNamesOf } from "./deviceclaim-validation.ts"

/** Source: k8s.io/api resource/v1/types.go, pkg/registry/resource/resourceclaim/strategy.go. */

const fields = {
  spec: f.message(2, ResourceClaimSpec, "The requested devices. Cannot be changed.").required().ownRule(),
  status: f.message(3, ResourceClaimStatus, "The allocated devices, and their users.").always().ownRule(),
}
export interface ResourceClaim extends ObjectFor<typeof fields> {}

export const ResourceClaim = defineResource(
  {
    group: "resource.k8s.io",
    version: "v1",
    kind: "ResourceClaim",
    plural: "resourceclaims",
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    returnsDeletedObject: true,
    doc: "A request for devices, which pods can use.",
    columns: [{ name: "State", type: "string", doc: "Whether it is allocated and reserved.", value: stateOf }],
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        prepareForUpdate: (claim, old) => withoutReturned(withMetadataOf(claim, old), old),
        validateUpdate: (claim, old) =>
          claimStatusFaults(claim.status, old.status, {
            isDeleted: claim.metadata.deletionTimestamp !== undefined,
            names: requestNamesOf(claim.spec.devices),
          }),
      },
    },
    validateCreate: ({ spec }) => claimSpecFaults(spec, "spec"),
    validateUpdate: ({ spec }, old) =>
      deepEqual(spec, old.spec) ? [] : [invalidValue("spec", goForm(ResourceClaimSpec, spec), "field is immutable")],
  },
  fields,
)

export function claimSpecFaults({ devices }: ResourceClaimSpec, path: string): readonly Cause[] {
  const causes: Cause[] = []
  within(causes, deviceClaimFaults(devices), `${path}.devices`)
  return causes
}

/**
 * Removes the status that drivers have reported for devices that are no longer allocated. Source:
 * dropDeallocatedStatusDevices.
 */
function withoutReturned(claim: ResourceClaim, old: ResourceClaim): ResourceClaim {
  const given = new Set((claim.status.allocation?.devices.results ?? []).map(deviceKey))
  const returned = new Set(
    (old.status.allocation?.devices.results ?? []).map(deviceKey).filter((key) => !given.has(key)),
  )
  const { devices, ...status } = claim.status
  const left = devices?.filter((device) => !returned.has(deviceKey(device))) ?? []
  if (devices === undefined || left.length === devices.length) return claim
  return { ...claim, status: left.length === 0 ? status : { ...status, devices: left } }
}

function stateOf({ metadata, status: { allocation, reservedFor = [] } }: ResourceClaim): string {
  const isDeleted = metadata.deletionTimestamp !== undefined
  const states = isDeleted ? ["deleted"] : []
  if (allocation === undefined) return [...states, ...(isDeleted ? [] : ["pending"])].join(",")
  return [...states, "allocated", ...(reservedFor.length > 0 ? ["reserved"] : [])].join(",")
}
