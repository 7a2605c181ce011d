import { f } from "../../../../apimachinery/fields.ts"
import { limitRangeFaults } from "./limitrange-validation.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { LimitRangeSpec } from "./limitrangespec.ts"

/** Source: k8s.io/api core/v1/types.go, SetDefaults_LimitRangeItem, ValidateLimitRange in pkg/apis/core/validation. */

const fields = {
  spec: f.message(2, LimitRangeSpec, "The bounds.").always(),
}
export interface LimitRange extends ObjectFor<typeof fields> {}

export const LimitRange = defineResource(
  {
    group: "",
    version: "v1",
    kind: "LimitRange",
    plural: "limitranges",
    shortNames: ["limits"],
    scope: "Namespaced",
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 1 },
    doc: "Bounds and defaults of the resources of each pod, container and claim in a namespace.",
    allowCreateOnUpdate: true,
    prepareForCreate: (range, { uuid }) =>
      (range.metadata.name ?? "") === "" ? { ...range, metadata: { ...range.metadata, name: uuid() } } : range,
    validateSpec: ({ spec: { limits } }) => limitRangeFaults(limits ?? []),
  },
  fields,
)
