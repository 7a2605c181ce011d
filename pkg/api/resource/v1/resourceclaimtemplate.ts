import { goForm } from "../../../apimachinery/go/go-form.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, within } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { templateMetadataFaults } from "../../core/v1/persistentvolume/claimspec-validation.ts"
import { ResourceClaimSpec } from "./deviceclaim.ts"
import { claimSpecFaults } from "./resourceclaim.ts"

/** Source: k8s.io/api resource/v1/types.go, pkg/registry/resource/resourceclaimtemplate/strategy.go. */

export const ResourceClaimTemplateSpec = message(
  "resource.v1.ResourceClaimTemplateSpec",
  "The claim that each pod gets.",
  {
    metadata: f.message(1, ObjectMeta, "Labels and annotations of the claim.").always(),
    spec: f.message(2, ResourceClaimSpec, "The requests of the claim.").required(),
  },
)
export interface ResourceClaimTemplateSpec extends ObjectOf<typeof ResourceClaimTemplateSpec> {}

const fields = {
  spec: f
    .message(2, ResourceClaimTemplateSpec, "The claim that each pod gets. Cannot be changed.")
    .required()
    .ownRule(),
}
export interface ResourceClaimTemplate extends ObjectFor<typeof fields> {}

export const ResourceClaimTemplate = defineResource(
  {
    group: "resource.k8s.io",
    version: "v1",
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    returnsDeletedObject: true,
    columns: [],
    doc: "A template from which each pod that names it gets its own claim.",
    validateSpec({ spec }) {
      const causes: Cause[] = []
      within(causes, templateMetadataFaults(spec.metadata), "spec.metadata")
      return [...causes, ...claimSpecFaults(spec.spec, "spec.spec")]
    },
    validateSpecUpdate: ({ spec }, old) =>
      deepEqual(spec, old.spec)
        ? []
        : [invalidValue("spec", goForm(ResourceClaimTemplateSpec, spec), "field is immutable")],
  },
  fields,
)
