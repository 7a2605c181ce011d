import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

export const ResourceRule = message("authorization.v1.ResourceRule", "Permitted verbs on resources.", {
  verbs: f.list(1, e.string, "Verbs that are allowed.").required().atomic(),
  apiGroups: f.list(2, e.string, "Groups of the resources.").atomic(),
  resources: f.list(3, e.string, "The resources.").atomic(),
  resourceNames: f.list(4, e.string, "Names of single objects; empty means every object.").atomic(),
})
export interface ResourceRule extends ObjectOf<typeof ResourceRule> {}

export const NonResourceRule = message("authorization.v1.NonResourceRule", "Permitted verbs on other paths.", {
  verbs: f.list(1, e.string, "Verbs that are allowed.").required().atomic(),
  nonResourceURLs: f.list(2, e.string, "The paths.").atomic(),
})
export interface NonResourceRule extends ObjectOf<typeof NonResourceRule> {}

export const SelfSubjectRulesReviewSpec = message(
  "authorization.v1.SelfSubjectRulesReviewSpec",
  "The namespace to evaluate.",
  {
    namespace: f.string(1, "The namespace."),
  },
)
export interface SelfSubjectRulesReviewSpec extends ObjectOf<typeof SelfSubjectRulesReviewSpec> {}

export const SubjectRulesReviewStatus = message(
  "authorization.v1.SubjectRulesReviewStatus",
  "The permissions of the caller.",
  {
    resourceRules: f.list(1, ResourceRule, "Permitted verbs on resources.").atomic().default([]).printZero(),
    nonResourceRules: f.list(2, NonResourceRule, "Permitted verbs on other paths.").atomic().default([]).printZero(),
    incomplete: f.bool(3, "Whether some authorizer could not say all.").default(false).printZero(),
    evaluationError: f.string(4, "Error while the rules were collected."),
  },
)
export interface SubjectRulesReviewStatus extends ObjectOf<typeof SubjectRulesReviewStatus> {}

const fields = {
  spec: f.message(2, SelfSubjectRulesReviewSpec, "The namespace to evaluate.").always().printZero(),
  status: f.message(3, SubjectRulesReviewStatus, "The answer.").always(),
}
export interface SelfSubjectRulesReview extends ObjectFor<typeof fields> {}

export const SelfSubjectRulesReview = defineResource(
  {
    group: "authorization.k8s.io",
    version: "v1",
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    scope: "Cluster",
    verbs: ["create"],
    doc: "Asks what the caller may do in a namespace. Not stored.",
  },
  fields,
)
