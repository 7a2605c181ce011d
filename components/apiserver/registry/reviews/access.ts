/** Questions to the authorizer, answered and not stored. Source: pkg/registry/authorization. */
import { LocalSubjectAccessReview } from "../../../../pkg/api/authorization/v1/localsubjectaccessreview.ts"
import { SelfSubjectAccessReview } from "../../../../pkg/api/authorization/v1/selfsubjectaccessreview.ts"
import { SelfSubjectRulesReview } from "../../../../pkg/api/authorization/v1/selfsubjectrulesreview.ts"
import { SubjectAccessReview } from "../../../../pkg/api/authorization/v1/subjectaccessreview.ts"
import type { PolicyRule } from "../../../../pkg/api/rbac/v1/rules.ts"
import { badRequest, invalid } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Authorizer } from "../../authorization/authorizer.ts"
import type { ApiRequest, UserInfo } from "../../request.ts"
import type { KindHooks } from "../context.ts"

interface Question extends KubeObject {
  readonly spec: {
    readonly resourceAttributes?:
      | {
          readonly namespace?: string | undefined
          readonly verb?: string | undefined
          readonly group?: string | undefined
          readonly version?: string | undefined
          readonly resource?: string | undefined
          readonly subresource?: string | undefined
          readonly name?: string | undefined
        }
      | undefined
    readonly nonResourceAttributes?:
      | { readonly path?: string | undefined; readonly verb?: string | undefined }
      | undefined
    readonly user?: string | undefined
    readonly groups?: readonly string[] | undefined
  }
}

export function accessReviews(
  authorizer: Authorizer,
  rulesOf: (user: UserInfo, namespace: string | undefined) => readonly PolicyRule[],
): readonly (readonly [Resource, KindHooks])[] {
  const judge = (question: Question, user: UserInfo) => {
    const { resourceAttributes: about, nonResourceAttributes: path } = question.spec
    const { allowed, reason } = authorizer.authorize(
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
          },
    )
    return { ...question, status: { allowed, ...(reason === "" ? {} : { reason }) } }
  }
  const checked = (request: ApiRequest, object: KubeObject): Question => {
    const causes = request.resource.validate?.(object) ?? []
    if (causes.length > 0) throw invalid(request.resource, "", causes)
    return object as Question
  }
  const subject = ({ spec: { user = "", groups = [] } }: Question): UserInfo => ({ name: user, groups })
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
          if (question.spec.resourceAttributes?.namespace !== request.namespace)
            throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${request.namespace ?? ""}`)
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
          return { ...object, status: { resourceRules, nonResourceRules, incomplete: false } } as KubeObject
        },
      },
    ],
  ]
}
