import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { Condition } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { MatchResources, ParamKind } from "./matchresources.ts"
import { policyFaults } from "./policy-validation.ts"
import { matchConditions, staticNameWarnings } from "./webhook.ts"

/**
 * Source: k8s.io/api admissionregistration/v1/types.go, pkg/registry/admissionregistration/validatingadmissionpolicy.
 */

export const Variable = message(
  "admissionregistration.v1.Variable",
  "A value that the other expressions of the policy can use as variables.<name>.",
  {
    name: f.string(1, "Name of the variable.").required().ownRule(),
    expression: f.string(2, "The expression, which may use the variables before it.").required().ownRule(),
  },
  { mapType: "atomic" },
)
export interface Variable extends ObjectOf<typeof Variable> {}

export const Validation = message("admissionregistration.v1.Validation", "A condition that requests must meet.", {
  expression: f.string(1, "The condition, which gives a bool; false refuses the request.").required().ownRule(),
  message: f.string(2, "What is told of a refusal."),
  reason: f.string(3, "Reason in the answer to a refused request; Invalid unless given.").pointer(),
  messageExpression: f.string(4, "An expression that makes the message."),
})
export interface Validation extends ObjectOf<typeof Validation> {}

export const AuditAnnotation = message(
  "admissionregistration.v1.AuditAnnotation",
  "A note that the policy makes in audit events.",
  {
    key: f.string(1, "Key of the note, to which the name of the policy is put before.").required().ownRule(),
    valueExpression: f.string(2, "The value: a string, or null for no note.").required().ownRule(),
  },
)
export interface AuditAnnotation extends ObjectOf<typeof AuditAnnotation> {}

export const ValidatingAdmissionPolicySpec = message(
  "admissionregistration.v1.ValidatingAdmissionPolicySpec",
  "What a policy demands of which requests.",
  {
    paramKind: f.message(1, ParamKind, "The kind of the objects with its parameters."),
    matchConstraints: f.message(2, MatchResources, "Requests that it is for."),
    validations: f.list(3, Validation, "Conditions that requests must meet.").atomic(),
    failurePolicy: f
      .string(4, "What becomes of a request when the policy cannot be evaluated: Fail or Ignore.")
      .default("Fail")
      .pointer(),
    auditAnnotations: f.list(5, AuditAnnotation, "Notes in audit events.").atomic(),
    matchConditions: matchConditions(6),
    variables: f.list(7, Variable, "Values that the expressions can use.").listMap("name").merge("name"),
  },
)
export interface ValidatingAdmissionPolicySpec extends ObjectOf<typeof ValidatingAdmissionPolicySpec> {}

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
    doc: "Conditions in CEL that requests must meet, where a binding says so.",
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
        doc: "The kind of its parameters.",
        value: ({ spec: { paramKind } }) =>
          paramKind === undefined ? "<unset>" : `${paramKind.apiVersion ?? ""}/${paramKind.kind ?? ""}`,
      },
    ],
    warnings: ({ metadata }) => staticNameWarnings(metadata.name),
    validateSpec: ({ metadata, spec }, old) => policyFaults(metadata.name ?? "", spec, old?.spec),
  },
  fields,
)
