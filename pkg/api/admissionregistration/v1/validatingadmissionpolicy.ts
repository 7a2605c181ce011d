import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f, message } from "../../../apimachinery/fields.ts"
import { Condition } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { policyFaults } from "./policy-validation.ts"
import { staticNameWarnings } from "./webhook.ts"
import { ValidatingAdmissionPolicySpec } from "./validatingadmissionpolicyspec.ts"

/**
 * Source: k8s.io/api admissionregistration/v1/types.go, pkg/registry/admissionregistration/validatingadmissionpolicy.
 */

export const ExpressionWarning = message(
  "admissionregistration.v1.ExpressionWarning",
  "What the type checker says of an expression.",
  {
    fieldRef: f.string(2, "Path of the expression.").required(),
    warning: f.string(3, "What it says.").required(),
  },
)
export const TypeChecking = message(
  "admissionregistration.v1.TypeChecking",
  "What the type checker says of a policy.",
  {
    expressionWarnings: f.list(1, ExpressionWarning, "Expression by expression.").atomic(),
  },
)

export const ValidatingAdmissionPolicyStatus = message(
  "admissionregistration.v1.ValidatingAdmissionPolicyStatus",
  "What was found of a policy.",
  {
    observedGeneration: f.int64(1, "Generation that was looked at."),
    typeChecking: f.message(2, TypeChecking, "Absent until its types were checked."),
    conditions: f.list(3, Condition, "Present state, aspect by aspect.").listMap("type"),
  },
)

const fields = {
  spec: f.message(2, ValidatingAdmissionPolicySpec, "What it demands.").always(),
  status: f.message(3, ValidatingAdmissionPolicyStatus, "What was found of it.").always(),
}
export interface ValidatingAdmissionPolicy extends ObjectFor<typeof fields> {}

export const ValidatingAdmissionPolicy = defineResource(
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    categories: ["api-extensions"],
    scope: "Cluster",
    doc: "Conditions that requests must meet, as CEL expressions. A binding puts the policy into effect.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    allowUnconditionalUpdate: false,
    subresources: {
      status: { validateUpdate: ({ status }) => conditionFaults("status.conditions", status.conditions ?? []) },
    },
    columns: [
      {
        name: "Validations",
        type: "integer",
        doc: "Number of conditions.",
        value: ({ spec: { validations = [] } }) => validations.length,
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
    validateSpec: ({ metadata, spec }, old) => policyFaults(metadata.name ?? "", spec, old?.spec),
  },
  fields,
)
