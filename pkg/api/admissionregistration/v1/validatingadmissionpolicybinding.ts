import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { isDNS1123Subdomain, isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { matchFaults, MatchResources, ParamRef } from "./matchresources.ts"
import { staticNameWarnings } from "./webhook.ts"

/**
 * Source: k8s.io/api admissionregistration/v1/types.go,
 * pkg/registry/admissionregistration/validatingadmissionpolicybinding.
 */

export const ValidatingAdmissionPolicyBindingSpec = message(
  "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec",
  "Where a policy holds, with which parameters, and what follows.",
  {
    policyName: f.string(1, "Name of the policy.").required().ownRule(),
    paramRef: f.message(2, ParamRef, "The objects with its parameters."),
    matchResources: f.message(3, MatchResources, "Narrows the requests that the policy is for."),
    validationActions: f
      .list(4, e.string, "What follows where a condition is not met: Deny, Warn, Audit.")
      .required()
      .ownRule()
      .pointer()
      .listSet(),
  },
)
export interface ValidatingAdmissionPolicyBindingSpec extends ObjectOf<typeof ValidatingAdmissionPolicyBindingSpec> {}

const fields = {
  spec: f.message(2, ValidatingAdmissionPolicyBindingSpec, "Where it holds.").always(),
}
export interface ValidatingAdmissionPolicyBinding extends ObjectFor<typeof fields> {}

export const ValidatingAdmissionPolicyBinding = defineResource(
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    categories: ["api-extensions"],
    scope: "Cluster",
    doc: "Puts a ValidatingAdmissionPolicy into force.",
    generation: { counts: (obj, old) => !deepEqual(obj.spec, old.spec) },
    allowUnconditionalUpdate: false,
    columns: [
      { name: "PolicyName", type: "string", doc: "Name of the policy.", value: ({ spec }) => spec.policyName },
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

/** Returns the column of a table with the parameters. */
export function paramColumn(ref: ParamRef | undefined): string {
  const { name = "", namespace = "" } = ref ?? {}
  if (ref === undefined || (name === "" && ref.selector === undefined)) return "<unset>"
  if (name === "") return "*"
  return namespace === "" ? `*/${name}` : `${namespace}/${name}`
}

const ACTIONS = ["Audit", "Deny", "Warn"]

function bindingFaults(spec: ValidatingAdmissionPolicyBindingSpec): readonly Cause[] {
  const { policyName, paramRef, matchResources, validationActions = [] } = spec
  return [
    ...(policyName === ""
      ? [required("spec.policyName")]
      : invalidValues("spec.policyName", policyName, isDNS1123Subdomain(policyName))),
    ...(paramRef === undefined ? [] : paramRefFaults("spec.paramRef", paramRef)),
    ...(matchResources === undefined ? [] : matchFaults("spec.matchResources", matchResources)),
    ...actionFaults("spec.validationActions", validationActions),
  ]
}

/** Returns the faults of a reference to parameters. Source: validateParamRef. */
export function paramRefFaults(path: string, ref: ParamRef): readonly Cause[] {
  const { name = "", selector, parameterNotFoundAction: action = "" } = ref
  const both = name !== "" && selector !== undefined
  const exclusive = (field: string) =>
    both ? [forbiddenField(at(path, field), "name and selector are mutually exclusive")] : []
  return [
    ...(name === "" ? [] : invalidValues(at(path, "name"), name, isPathSegmentName(name))),
    ...exclusive("name"),
    ...(selector === undefined ? [] : labelSelectorFaults(at(path, "selector"), selector)),
    ...exclusive("selector"),
    ...(name === "" && selector === undefined ? [required(path, "one of name or selector must be specified")] : []),
    ...(action === ""
      ? [required(at(path, "parameterNotFoundAction"))]
      : ["Deny", "Allow"].includes(action)
        ? []
        : [notSupported(at(path, "parameterNotFoundAction"), action, ["Deny", "Allow"])]),
  ]
}

const actionFaults = (
  path: string,
  actions: readonly string[],
  twins = repeated(actions, (action) => action),
): readonly Cause[] => [
  ...actions.flatMap((action, i) => [
    ...(ACTIONS.includes(action) ? [] : [notSupported(at(path, i), action, ACTIONS)]),
    ...(twins.has(i) ? [duplicate(at(path, i), action)] : []),
  ]),
  ...(actions.includes("Deny") && actions.includes("Warn")
    ? [
        invalidValue(
          path,
          actions,
          "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
        ),
      ]
    : []),
  ...(actions.length === 0 ? [required(path, "at least one validation action is required")] : []),
]
