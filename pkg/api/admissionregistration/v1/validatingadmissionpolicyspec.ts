import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { MatchResources, ParamKind } from "./matchresources.ts"
import { matchConditions } from "./webhook.ts"

export const Variable = message(
  "admissionregistration.v1.Variable",
  "A value that the other expressions of the policy can use as variables.<name>.",
  {
    name: f.string(1, "Name of the variable.").required().ownRule(),
    expression: f.string(2, "The expression; it can use the variables before it.").required().ownRule(),
  },
  { mapType: "atomic" },
)
export interface Variable extends ObjectOf<typeof Variable> {}

export const Validation = message("admissionregistration.v1.Validation", "A condition that requests must meet.", {
  expression: f.string(1, "The condition, which gives a bool; false refuses the request.").required().ownRule(),
  message: f.string(2, "Message of a refusal."),
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
    matchConstraints: f.message(2, MatchResources, "Requests to which the policy applies."),
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
