import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { MatchResources, ParamKind } from "./matchresources.ts"
import { mutatingPolicyFaults } from "./mutating-policy-validation.ts"
import { Variable } from "./validatingadmissionpolicy.ts"
import { matchConditions, staticNameWarnings } from "./webhook.ts"

/** Source: k8s.io/api admissionregistration/v1/types.go, pkg/registry/admissionregistration/mutatingadmissionpolicy. */

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
    doc: "Changes in CEL that are made to objects before they are stored, where a binding says so.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    allowUnconditionalUpdate: false,
    columns: [
      {
        name: "Mutations",
        type: "integer",
        doc: "Number of changes.",
        value: ({ spec: { mutations = [] } }) => mutations.length,
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
    validateSpec: ({ spec }, old) => mutatingPolicyFaults(spec, old?.spec),
  },
  fields,
)
