import { quotaWarnings } from "./resourcequota-validation.ts"
import { ResourceQuotaSpec, ResourceQuotaStatus } from "./resourcequotaspec.ts"
import { f } from "../../../../apimachinery/fields.ts"
import { quotaFaults, quotaStatusFaults, scopesAreFixed } from "./resourcequota-validation.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"

/**
 * Source: k8s.io/api core/v1/types.go, pkg/registry/core/resourcequota/strategy.go, ValidateResourceQuota in
 * pkg/apis/core/validation.
 */

const fields = {
  spec: f.message(2, ResourceQuotaSpec, "The limits.").always(),
  status: f.message(3, ResourceQuotaStatus, "What is used.").always(),
}
export interface ResourceQuota extends ObjectFor<typeof fields> {}

export const ResourceQuota = defineResource(
  {
    group: "",
    version: "v1",
    kind: "ResourceQuota",
    plural: "resourcequotas",
    shortNames: ["quota"],
    scope: "Namespaced",
    doc: "Limits for the total usage of all objects in a namespace.",
    subresources: { status: { validateUpdate: ({ status }) => quotaStatusFaults(status) } },
    columns: [
      {
        name: "Request",
        type: "string",
        doc: "Used and allowed requests.",
        value: (quota) => usageText(quota, (name) => !name.startsWith("limits.")),
      },
      {
        name: "Limit",
        type: "string",
        doc: "Used and allowed limits.",
        value: (quota) => usageText(quota, (name) => name.startsWith("limits.")),
      },
    ],
    returnsDeletedObject: true,
    warnings: ({ spec }, old) => (old === undefined ? quotaWarnings(spec) : []),
    validateSpec: ({ spec }) => quotaFaults(spec),
    validateSpecUpdate: ({ spec }, old) => scopesAreFixed(spec, old.spec),
  },
  fields,
)

function usageText({ status }: ResourceQuota, wanted: (name: string) => boolean): string {
  const { hard = {}, used = {} } = status
  return Object.keys(hard)
    .filter(wanted)
    .sort()
    .map((name) => `${name}: ${used[name] ?? "0"}/${hard[name]}`)
    .join(", ")
}
