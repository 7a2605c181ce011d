import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { MatchResources, ParamKind } from "./matchresources.ts"
import { Variable } from "./validatingadmissionpolicyspec.ts"
import { matchConditions } from "./webhook.ts"

export const ApplyConfiguration = message(
  "admissionregistration.v1.ApplyConfiguration",
  "A mutation that is merged into the object as server-side apply does.",
  { expression: f.string(1, "Makes the configuration: an `Object{}` with the fields to set.") },
)
export const JSONPatch = message("admissionregistration.v1.JSONPatch", "A mutation as a JSON Patch.", {
  expression: f.string(1, "Makes the operations: a list of `JSONPatch{}`."),
})

export const Mutation = message("admissionregistration.v1.Mutation", "One change that a policy makes.", {
  patchType: f.string(2, "ApplyConfiguration or JSONPatch.").required().ownRule(),
  applyConfiguration: f.message(3, ApplyConfiguration, "The configuration to merge, for that type."),
  jsonPatch: f.message(4, JSONPatch, "The patch, for that type."),
})
export interface Mutation extends ObjectOf<typeof Mutation> {}

export const MutatingAdmissionPolicySpec = message(
  "admissionregistration.v1.MutatingAdmissionPolicySpec",
  "What a policy changes in which objects.",
  {
    paramKind: f.message(1, ParamKind, "The kind of the objects with its parameters."),
    matchConstraints: f.message(2, MatchResources, "Requests that it is for."),
    variables: f.list(3, Variable, "Values that the expressions can use.").atomic(),
    mutations: f.list(4, Mutation, "Changes, made one after the other.").atomic(),
    failurePolicy: f
      .string(5, "What becomes of a request when the policy cannot be evaluated: Fail or Ignore.")
      .default("Fail")
      .pointer(),
    matchConditions: matchConditions(6),
    reinvocationPolicy: f.string(7, "Whether it runs once more when others changed the object: Never or IfNeeded."),
  },
)
export interface MutatingAdmissionPolicySpec extends ObjectOf<typeof MutatingAdmissionPolicySpec> {}
