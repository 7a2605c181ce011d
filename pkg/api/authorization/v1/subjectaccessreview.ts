import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import {
  metadataFaults,
  NonResourceAttributes,
  questionFaults,
  ResourceAttributes,
  SubjectAccessReviewStatus,
} from "./attributes.ts"

/** Source: k8s.io/api authorization/v1/types.go, pkg/apis/authorization/validation. */

export const SubjectAccessReviewSpec = message(
  "authorization.v1.SubjectAccessReviewSpec",
  "The user and the request to evaluate.",
  {
    resourceAttributes: f.message(1, ResourceAttributes, "The request, for a resource."),
    nonResourceAttributes: f.message(2, NonResourceAttributes, "The request, for a path that is no resource."),
    user: f.string(3, "Name of the user."),
    groups: f.list(4, e.string, "Groups of the user.").atomic(),
    extra: f.map(5, e.listOf(e.string), "More that an authenticator would know of the user."),
    uid: f.string(6, "Uid of the user."),
  },
)
export interface SubjectAccessReviewSpec extends ObjectOf<typeof SubjectAccessReviewSpec> {}

const fields = {
  spec: f.message(2, SubjectAccessReviewSpec, "The user and the request to evaluate.").always().printZero(),
  status: f.message(3, SubjectAccessReviewStatus, "The answer.").always(),
}
export interface SubjectAccessReview extends ObjectFor<typeof fields> {}

export const SubjectAccessReview = defineResource(
  {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    scope: "Cluster",
    verbs: ["create"],
    doc: "Asks whether a user may do something. Not stored.",
    validate: ({ metadata, spec }) => [...subjectFaults(spec), ...metadataFaults(metadata)],
  },
  fields,
)

/** Checks that a subject is given, and attributes. */
export const subjectFaults = (spec: SubjectAccessReviewSpec): readonly Cause[] => [
  ...questionFaults(spec),
  ...(!spec.user && (spec.groups ?? []).length === 0
    ? [invalidValue("spec.user", spec.user ?? "", "at least one of user or group must be specified")]
    : []),
]
