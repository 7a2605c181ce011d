import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { UserInfo } from "./userinfo.ts"

/** Source: k8s.io/api authentication/v1/types.go, pkg/registry/authentication/tokenreview. */

export const TokenReviewSpec = message("authentication.v1.TokenReviewSpec", "The token that is asked about.", {
  token: f.string(1, "The bearer token.").default("").printZero(),
  audiences: f.list(2, e.string, "Audiences of the requester; the token must be intended for one of them.").atomic(),
})
export interface TokenReviewSpec extends ObjectOf<typeof TokenReviewSpec> {}

export const TokenReviewStatus = message(
  "authentication.v1.TokenReviewStatus",
  "The result of the authentication of a token.",
  {
    authenticated: f.bool(1, "Whether the token is good."),
    user: f.message(2, UserInfo, "The user of the token.").always(),
    audiences: f.list(4, e.string, "The requested audiences for which the token is intended.").atomic(),
    error: f.string(3, "Why the token could not be checked."),
  },
)
export interface TokenReviewStatus extends ObjectOf<typeof TokenReviewStatus> {}

const fields = {
  spec: f.message(2, TokenReviewSpec, "The token that is asked about.").always().printZero(),
  status: f.message(3, TokenReviewStatus, "The answer.").always(),
}
export interface TokenReview extends ObjectFor<typeof fields> {}

export const TokenReview = defineResource(
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenReview",
    plural: "tokenreviews",
    scope: "Cluster",
    verbs: ["create"],
    doc: "Asks which user a bearer token authenticates. Not stored.",
  },
  fields,
)
