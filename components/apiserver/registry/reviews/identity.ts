/**
 * Identity reviews: questions to the authenticator, which are answered and not stored. Source:
 * pkg/registry/authentication.
 */
import { SelfSubjectReview } from "../../../../pkg/api/authentication/v1/selfsubjectreview.ts"
import { TokenReview } from "../../../../pkg/api/authentication/v1/tokenreview.ts"
import { invalid } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { UserInfo } from "../../request.ts"
import type { KindHooks } from "../context.ts"

/** Authenticates a token by the chain of token authenticators. */
export type ReviewToken = (
  token: string,
  audiences: readonly string[] | undefined,
) => { readonly user: UserInfo; readonly audiences?: readonly string[] } | { readonly error: string } | undefined

export const identityReviews = (reviewToken: ReviewToken): readonly (readonly [Resource, KindHooks])[] => [
  [
    SelfSubjectReview,
    { createVirtual: ({ user }, object) => ({ ...object, status: { userInfo: shown(user) } }) as KubeObject },
  ],
  [
    TokenReview,
    {
      createVirtual(request, object) {
        const causes = request.resource.validate?.(object) ?? []
        if (causes.length > 0) throw invalid(request.resource, "", causes)
        const { token, audiences } = (object as unknown as TokenReview).spec
        const verdict = reviewToken(token, audiences)
        if (verdict === undefined) return { ...object, status: { authenticated: false, user: {} } } as KubeObject
        if ("error" in verdict)
          return { ...object, status: { authenticated: false, user: {}, error: verdict.error } } as KubeObject
        return {
          ...object,
          status: {
            authenticated: true,
            user: shown(verdict.user),
            ...(verdict.audiences === undefined ? {} : { audiences: verdict.audiences }),
          },
        } as KubeObject
      },
    },
  ],
]

const shown = ({ name, uid, groups, extra }: UserInfo) => ({
  username: name,
  ...(uid === undefined ? {} : { uid }),
  groups,
  ...(extra === undefined ? {} : { extra }),
})
