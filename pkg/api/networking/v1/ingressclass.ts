import type { Cause } from "../../../apimachinery/errors.ts"
import { domainPathFaults } from "../../../apimachinery/validation/domain-path.ts"
import { forbiddenField, invalidValues, required, tooLong } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isPathSegmentName,
  type Check,
} from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api networking/v1/types.go, ValidateIngressClass in pkg/apis/networking/validation. */

export const IngressClassParametersReference = message(
  "networking.v1.IngressClassParametersReference",
  "Names an object with parameters for the controller.",
  {
    apiGroup: f.string(1, "Group of the kind; empty for the core group.").pointer(),
    kind: f.string(2, "Kind of the object.").required(),
    name: f.string(3, "Name of the object.").required(),
    scope: f
      .string(4, "Whether the object is cluster-wide or in a namespace.")
      .default("Cluster")
      .enum("Cluster", "Namespace")
      .pointer(),
    namespace: f.string(5, "Namespace of the object.").pointer(),
  },
)
export interface IngressClassParametersReference extends ObjectOf<typeof IngressClassParametersReference> {}

export const IngressClassSpec = message("networking.v1.IngressClassSpec", "Which controller acts for a class.", {
  controller: f.string(1, "Name of the controller; cannot be changed.").immutable(),
  parameters: f.message(2, IngressClassParametersReference, "An object with parameters for the controller."),
})
export interface IngressClassSpec extends ObjectOf<typeof IngressClassSpec> {}

const fields = {
  spec: f.message(2, IngressClassSpec, "Which controller acts.").always(),
}
export interface IngressClass extends ObjectFor<typeof fields> {}

export const IngressClass = defineResource(
  {
    group: "networking.k8s.io",
    version: "v1",
    kind: "IngressClass",
    plural: "ingressclasses",
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A class of Ingresses, and the controller that acts for them.",
    generation: true,
    columns: [
      {
        name: "Controller",
        type: "string",
        doc: "Name of the controller.",
        value: ({ spec }) => spec.controller ?? "",
      },
      {
        name: "Parameters",
        type: "string",
        doc: "Object with the parameters of the controller.",
        value: ({ spec: { parameters } }) =>
          parameters === undefined
            ? undefined
            : `${parameters.kind}${parameters.apiGroup ? `.${parameters.apiGroup}` : ""}/${parameters.name}`,
      },
    ],
    validateSpec: ({ spec }) => specFaults(spec),
  },
  fields,
)

const LONGEST_CONTROLLER = 250

function specFaults({ controller = "", parameters }: IngressClassSpec): readonly Cause[] {
  return [
    ...(controller.length > LONGEST_CONTROLLER ? [tooLong("spec.controller", LONGEST_CONTROLLER)] : []),
    ...domainPathFaults("spec.controller", controller),
    ...(parameters === undefined ? [] : parametersFaults(parameters)),
  ]
}

function parametersFaults({
  apiGroup,
  kind,
  name,
  scope,
  namespace,
}: IngressClassParametersReference): readonly Cause[] {
  const checked = (field: string, value: string | undefined, check: Check) =>
    value === undefined ? [] : invalidValues(`spec.parameters.${field}`, value, check(value))
  return [
    ...checked("apiGroup", apiGroup, isDNS1123Subdomain),
    ...checked("kind", kind, isPathSegmentName),
    ...checked("name", name, isPathSegmentName),
    ...(scope === "Namespace"
      ? namespace === undefined
        ? [required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'")]
        : checked("namespace", namespace, isDNS1123Label)
      : []),
    ...(scope === "Cluster" && namespace !== undefined
      ? [forbiddenField("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'")]
      : []),
  ]
}
