import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValues, required } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { matchFaults, MatchResources, ParamRef } from "./matchresources.ts"
import { mutatingOperationFaults } from "./mutating-policy-validation.ts"
import { paramColumn, paramRefFaults } from "./validatingadmissionpolicybinding.ts"
import { staticNameWarnings } from "./webhook.ts"

/**
 * Source: k8s.io/api admissionregistration/v1/types.go,
 * pkg/registry/admissionregistration/mutatingadmissionpolicybinding.
 */

export const MutatingAdmissionPolicyBindingSpec = message(
  "admissionregistration.v1.MutatingAdmissionPolicyBindingSpec",
  "Where a policy makes its changes, and with which parameters.",
  {
    policyName: f.string(1, "Name of the policy."),
    paramRef: f.message(2, ParamRef, "The objects with its parameters."),
    matchResources: f.message(3, MatchResources, "Narrows the requests that the policy is for."),
  },
)
export interface MutatingAdmissionPolicyBindingSpec extends ObjectOf<typeof MutatingAdmissionPolicyBindingSpec> {}

const fields = {
  spec: f.message(2, MutatingAdmissionPolicyBindingSpec, "Where it holds.").always(),
}
export interface MutatingAdmissionPolicyBinding extends ObjectFor<typeof fields> {}

export const MutatingAdmissionPolicyBinding = defineResource(
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "MutatingAdmissionPolicyBinding",
    plural: "mutatingadmissionpolicybindings",
    categories: ["api-extensions"],
    scope: "Cluster",
    doc: "Puts a MutatingAdmissionPolicy into force.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    allowUnconditionalUpdate: false,
    columns: [
      { name: "PolicyName", type: "string", doc: "Name of the policy.", value: ({ spec }) => spec.policyName ?? "" },
      {
        name: "ParamRef",
        type: "string",
        doc: "Object with the parameters of the policy.",
        value: ({ spec: { paramRef } }) => paramColumn(paramRef),
      },
    ],
    warnings: ({ metadata }) => staticNameWarnings(metadata.name),
    validateSpec: ({ spec }) => bindingFaults(spec),
  },
  fields,
)

const bindingFaults = ({
  policyName = "",
  paramRef,
  matchResources,
}: MutatingAdmissionPolicyBindingSpec): readonly Cause[] => [
  ...(policyName === ""
    ? [required("spec.policyName")]
    : invalidValues("spec.policyName", policyName, isDNS1123Subdomain(policyName))),
  ...(paramRef === undefined ? [] : paramRefFaults("spec.paramRef", paramRef)),
  ...(matchResources === undefined
    ? []
    : [
        ...matchFaults("spec.matchResources", matchResources),
        ...mutatingOperationFaults("spec.matchResources", matchResources),
      ]),
]
