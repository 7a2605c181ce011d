import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import {
  metadataFaults,
  NonResourceAttributes,
  questionFaults,
  ResourceAttributes,
  SubjectAccessReviewStatus,
} from "./attributes.ts"

export const SelfSubjectAccessReviewSpec = message(
  "authorization.v1.SelfSubjectAccessReviewSpec",
  "The request to evaluate.",
  {
    resourceAttributes: f.message(1, ResourceAttributes, "The request, for a resource."),
    nonResourceAttributes: f.message(2, NonResourceAttributes, "The request, for a path that is no resource."),
  },
)
export interface SelfSubjectAccessReviewSpec extends ObjectOf<typeof SelfSubjectAccessReviewSpec> {}

const fields = {
  spec: f.message(2, SelfSubjectAccessReviewSpec, "The request to evaluate.").always().printZero(),
  status: f.message(3, SubjectAccessReviewStatus, "The answer.").always(),
}
export interface SelfSubjectAccessReview extends ObjectFor<typeof fields> {}

export const SelfSubjectAccessReview = defineResource(
  {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    scope: "Cluster",
    verbs: ["create"],
    doc: "Asks whether the caller may do something. Not stored.",
    validate: ({ metadata, spec }) => [...questionFaults(spec), ...metadataFaults(metadata)],
  },
  fields,
)
