import { invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { metadataFaults, shownPath, SubjectAccessReviewStatus } from "./attributes.ts"
import { subjectFaults, SubjectAccessReviewSpec } from "./subjectaccessreview.ts"

const fields = {
  spec: f
    .message(2, SubjectAccessReviewSpec, "The user and the request to evaluate, in the namespace of the review.")
    .always()
    .printZero(),
  status: f.message(3, SubjectAccessReviewStatus, "The answer.").always(),
}
export interface LocalSubjectAccessReview extends ObjectFor<typeof fields> {}

export const LocalSubjectAccessReview = defineResource(
  {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    scope: "Namespaced",
    verbs: ["create"],
    doc: "Asks whether a user may do something in a namespace. Not stored.",
    validate: ({ metadata, spec }) => {
      const causes = [...subjectFaults(spec), ...metadataFaults(metadata, "must be empty except for namespace")]
      if (spec.resourceAttributes !== undefined && spec.resourceAttributes.namespace !== metadata.namespace)
        causes.push(
          invalidValue(
            "spec.resourceAttributes.namespace",
            spec.resourceAttributes.namespace ?? "",
            `must match metadata.namespace`,
          ),
        )
      if (spec.nonResourceAttributes !== undefined)
        causes.push(
          invalidValue(
            "spec.nonResourceAttributes",
            shownPath(spec.nonResourceAttributes),
            "disallowed on this kind of request",
          ),
        )
      return causes
    },
  },
  fields,
)
