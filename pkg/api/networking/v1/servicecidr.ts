import { parseNetwork } from "../../../apimachinery/addresses/cidr.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, invalidValues, required } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { Condition } from "../../../apimachinery/meta.ts"
import { isCanonicalCIDR } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { withMetadataOf } from "../../status-metadata.ts"

/** Source: k8s.io/api networking/v1/types.go, ValidateServiceCIDR in pkg/apis/networking/validation. */

export const ServiceCIDRSpec = message("networking.v1.ServiceCIDRSpec", "The range.", {
  cidrs: f.list(1, e.string, "One CIDR, or one of each IP family.").atomic(),
})
export interface ServiceCIDRSpec extends ObjectOf<typeof ServiceCIDRSpec> {}

export const ServiceCIDRStatus = message("networking.v1.ServiceCIDRStatus", "The present state of a range.", {
  conditions: f.list(1, Condition, "Aspects of the state.").listMap("type").merge("type"),
})
export interface ServiceCIDRStatus extends ObjectOf<typeof ServiceCIDRStatus> {}

const fields = {
  spec: f.message(2, ServiceCIDRSpec, "The range.").always(),
  status: f.message(3, ServiceCIDRStatus, "The present state.").always(),
}
export interface ServiceCIDR extends ObjectFor<typeof fields> {}

export const ServiceCIDR = defineResource(
  {
    group: "networking.k8s.io",
    version: "v1",
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    scope: "Cluster",
    doc: "A range from which Services get their addresses.",
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        prepareForUpdate: (object, old) => withMetadataOf(object, old),
      },
    },
    columns: [
      { name: "CIDRs", type: "string", doc: "Ranges of addresses.", value: ({ spec }) => (spec.cidrs ?? []).join(",") },
    ],
    validateCreate: ({ spec }) => cidrFaults(spec),
    validateUpdate: ({ spec }, { spec: { cidrs: old = [] } }) => {
      const { cidrs = [] } = spec
      const grows = old.length === 1 && cidrs.length === 2
      if (cidrs.length !== old.length && !grows)
        return [invalidValue("spec.cidrs", cidrs.length === 0 ? null : cidrs, "field is immutable")]
      return [
        ...old.flatMap((cidr, i) =>
          cidrs[i] === cidr ? [] : [invalidValue(at("spec.cidrs", i), cidrs[i], "field is immutable")],
        ),
        // A range of the second family may be added.
        ...(grows ? cidrFaults(spec) : []),
      ]
    },
  },
  fields,
)

function cidrFaults(spec: ServiceCIDRSpec): readonly Cause[] {
  const { cidrs = [] } = spec
  if (cidrs.length === 0) return [required("spec.cidrs", "at least one CIDR required")]
  if (cidrs.length > 2)
    return [invalidValue("spec.cidrs", goForm(ServiceCIDRSpec, spec), "may only hold up to 2 values")]
  const causes = cidrs.flatMap((cidr, i) => invalidValues(at("spec.cidrs", i), cidr, isCanonicalCIDR(cidr)))
  const [family, other] = cidrs.map((cidr) => parseNetwork(cidr)?.family)
  if (cidrs.length === 2 && family !== undefined && family === other)
    causes.push(
      invalidValue(
        "spec.cidrs",
        cidrs,
        "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
      ),
    )
  return causes
}
