import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { mutatingPolicyFaults } from "./mutating-policy-validation.ts"
import { staticNameWarnings } from "./webhook.ts"
import { MutatingAdmissionPolicySpec } from "./mutatingadmissionpolicyspec.ts"

/** Source: k8s.io/api admissionregistration/v1/types.go, pkg/registry/admissionregistration/mutatingadmissionpolicy. */

const fields = {
  spec: f.message(2, MutatingAdmissionPolicySpec, "What it changes.").always(),
}
export interface MutatingAdmissionPolicy extends ObjectFor<typeof fields> {}

export const MutatingAdmissionPolicy = defineResource(
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "MutatingAdmissionPolicy",
    plural: "mutatingadmissionpolicies",
    categories: ["api-extensions"],
    scope: "Cluster",
    doc: "Changes to objects before they are stored, as CEL expressions. A binding puts the policy into effect.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    allowUnconditionalUpdate: false,
    columns: [
      {
        name: "Mutations",
        type: "integer",
        doc: "Number of mutations.",
        value: ({ spec: { mutations = [] } }) => mutations.length,
      },
      {
        name: "ParamKind",
        type: "string",
        doc: "Kind of the policy's parameters.",
        value: ({ spec: { paramKind } }) =>
          paramKind === undefined ? "<unset>" : `${paramKind.apiVersion ?? ""}/${paramKind.kind ?? ""}`,
      },
    ],
    warnings: ({ metadata }) => staticNameWarnings(metadata.name),
    validateSpec: ({ spec }, old) => mutatingPolicyFaults(spec, old?.spec),
  },
  fields,
)
