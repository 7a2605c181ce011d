/**
 * Identity reviews: questions to the authenticator, which are answered and not stored. Source:
 * pkg/registry/authentication.
 */
import { SelfSubjectReview } from "../../../../pkg/api/authentication/v1/selfsubjectreview.ts"
import { TokenReview } from "../../../../pkg/api/authentication/v1/tokenreview.ts"
import { badRequest } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../pkg/clock/clock.ts"
import { whenReady, type MaybePromise } from "../../call/maybe-promise.ts"
import type { UserInfo } from "../../call/request.ts"
import type { KindHooks } from "../context.ts"

type Verdict =
  | { readonly user: UserInfo; readonly audiences?: readonly string[] }
  | { readonly error: string }
  | undefined

/** Authenticates a token by the chain of token authenticators. */
export type ReviewToken = (token: string, audiences: readonly string[] | undefined) => MaybePromise<Verdict>

export const identityReviews = (
  reviewToken: ReviewToken,
  clock: Clock,
): readonly (readonly [Resource, KindHooks])[] => [
  [
    SelfSubjectReview,
    {
      createVirtual: ({ user }, { apiVersion, kind }) =>
        ({
          apiVersion,
          kind,
          metadata: { creationTimestamp: timestamp(clock) },
          status: { userInfo: shown(user) },
        }) as KubeObject,
    },
  ],
  [
    TokenReview,
    {
      createVirtual(_request, object) {
        const { token, audiences } = (object as unknown as TokenReview).spec
        if (token === "") throw badRequest("token is required for TokenReview in authentication")
        return whenReady(reviewToken(token, audiences), (verdict) => reviewed(object, verdict))
      },
    },
  ],
]

function reviewed(object: KubeObject, verdict: Verdict): KubeObject {
  if (verdict === undefined || "error" in verdict)
    return { ...object, status: { user: {}, error: refusalOf(verdict?.error) } } as KubeObject
  return {
    ...object,
    status: {
      authenticated: true,
      user: shown(verdict.user),
      ...(verdict.audiences === undefined ? {} : { audiences: verdict.audiences }),
    },
  } as KubeObject
}

/** What upstream's chain of authenticators says: that none knows the token, and what one of them found. */
const refusalOf = (error: string | undefined): string =>
  error === undefined ? "invalid bearer token" : `[invalid bearer token, ${error}]`

const shown = ({ name, uid, groups, extra }: UserInfo) => ({
  ...(name === "" ? {} : { username: name }),
  ...(uid === undefined ? {} : { uid }),
  groups,
  ...(extra === undefined ? {} : { extra }),
})
