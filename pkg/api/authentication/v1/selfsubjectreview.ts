import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { UserInfo } from "./userinfo.ts"

/** Source: k8s.io/api authentication/v1/types.go, pkg/registry/authentication/selfsubjectreview. */

export const SelfSubjectReviewStatus = message(
  "authentication.v1.SelfSubjectReviewStatus",
  "The user who sends the request.",
  {
    userInfo: f.message(1, UserInfo, "The user who sends the request.").always(),
  },
)
export interface SelfSubjectReviewStatus extends ObjectOf<typeof SelfSubjectReviewStatus> {}

const fields = {
  status: f.message(2, SelfSubjectReviewStatus, "The user who sends the request.").always(),
}
export interface SelfSubjectReview extends ObjectFor<typeof fields> {}

export const SelfSubjectReview = defineResource(
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "SelfSubjectReview",
    plural: "selfsubjectreviews",
    scope: "Cluster",
    verbs: ["create"],
    doc: "Asks the server who the caller is. Not stored.",
  },
  fields,
)
