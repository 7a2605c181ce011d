/**
 * Access reviews: questions to the authorizer, which are answered and not stored. Source: pkg/registry/authorization.
 */
import { LocalSubjectAccessReview } from "../../../../pkg/api/authorization/v1/localsubjectaccessreview.ts"
import { SelfSubjectAccessReview } from "../../../../pkg/api/authorization/v1/selfsubjectaccessreview.ts"
import { SelfSubjectRulesReview } from "../../../../pkg/api/authorization/v1/selfsubjectrulesreview.ts"
import { evaluationErrorOf, fieldSelectorOf, labelSelectorOf } from "../../../../pkg/api/authorization/v1/attributes.ts"
import {
  SubjectAccessReview,
  type SubjectAccessReviewSpec,
} from "../../../../pkg/api/authorization/v1/subjectaccessreview.ts"
import type { PolicyRule } from "../../../../pkg/api/rbac/v1/rules.ts"
import { badRequest, invalid } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Authorizer } from "../../authorization/authorizer.ts"
import { nodeOf } from "../../authorization/node.ts"
import { whenReady } from "../../call/maybe-promise.ts"
import type { ApiRequest, AuthorizationDecision, UserInfo } from "../../call/request.ts"
import type { KindHooks } from "../context.ts"

interface Question extends KubeObject {
  readonly spec: Partial<SubjectAccessReviewSpec>
}

export function accessReviews(
  authorizer: Authorizer,
  rulesOf: (user: UserInfo, namespace: string | undefined) => readonly PolicyRule[],
  hasWebhooks: () => boolean,
): readonly (readonly [Resource, KindHooks])[] {
  const judge = (question: Question, user: UserInfo) => {
    const { resourceAttributes: about, nonResourceAttributes: path } = question.spec
    const decided = authorizer.authorize(
      path !== undefined
        ? { user, verb: path.verb ?? "", path: path.path ?? "" }
        : {
            user,
            verb: about?.verb ?? "",
            group: about?.group ?? "",
            version: about?.version ?? "",
            resource: about?.resource ?? "",
            subresource: about?.subresource,
            namespace: about?.namespace,
            name: about?.name,
            fieldSelector: fieldSelectorOf(about?.fieldSelector),
            labelSelector: labelSelectorOf(about?.labelSelector),
          },
    )
    return whenReady(decided, ({ allowed, reason, isDenied, error }: AuthorizationDecision): Question => {
      const evaluationError = [error?.message ?? "", evaluationErrorOf(about)].filter((one) => one !== "").join("; ")
      return {
        ...question,
        status: {
          allowed,
          ...(isDenied === true ? { denied: true } : {}),
          ...(reason === "" ? {} : { reason }),
          ...(evaluationError === "" ? {} : { evaluationError }),
        },
      } as Question
    })
  }
  const checked = (request: ApiRequest, object: KubeObject): Question => {
    const causes = request.resource.validate?.(object) ?? []
    // As upstream, whose reviews have lost their kind by then.
    if (causes.length > 0) throw invalid({ group: request.resource.group, kind: "" }, "", causes)
    return object as Question
  }
  const subject = ({ spec: { user = "", groups = [], uid, extra } }: Question): UserInfo => ({
    name: user,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  })
  return [
    [SelfSubjectAccessReview, { createVirtual: (request, object) => judge(checked(request, object), request.user) }],
    [
      SubjectAccessReview,
      {
        createVirtual: (request, object) => {
          const question = checked(request, object)
          return judge(question, subject(question))
        },
      },
    ],
    [
      LocalSubjectAccessReview,
      {
        createVirtual: (request, object) => {
          const question = checked(request, object)
          return judge(question, subject(question))
        },
      },
    ],
    [
      SelfSubjectRulesReview,
      {
        createVirtual(request, object) {
          const { namespace = "" } = (object as unknown as SelfSubjectRulesReview).spec
          if (namespace === "") throw badRequest("no namespace on request")
          const rules = rulesOf(request.user, namespace)
          const resourceRules = rules
            .filter(({ resources }) => (resources ?? []).length > 0)
            .map(({ verbs, apiGroups, resources, resourceNames }) => ({
              verbs,
              apiGroups,
              resources,
              ...(resourceNames === undefined ? {} : { resourceNames }),
            }))
          const nonResourceRules = rules
            .filter(({ nonResourceURLs }) => (nonResourceURLs ?? []).length > 0)
            .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }))
          // The decisions of the node authorizer depend on the pods of the node, and a webhook lists none.
          const unlisted = [
            ...(nodeOf(request.user) === undefined ? [] : ["node"]),
            ...(hasWebhooks() ? ["webhook"] : []),
          ].map((who) => `${who} authorizer does not support user rule resolution`)
          const more =
            unlisted.length === 0
              ? { incomplete: false }
              : { incomplete: true, evaluationError: unlisted.length === 1 ? unlisted[0] : `[${unlisted.join(", ")}]` }
          return {
            ...object,
            // The answer is another object than the question.
            metadata: {},
            spec: {},
            status: { resourceRules, nonResourceRules, ...more },
          } as KubeObject
        },
      },
    ],
  ]
}
