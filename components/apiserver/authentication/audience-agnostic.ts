import { whenReady } from "../call/maybe-promise.ts"
import type { TokenAuthenticator, TokenVerdict } from "./authenticator.ts"

/**
 * Returns an authenticator of tokens that name no audience: they are for the API server only. A TokenReview for other
 * audiences does not know them. Source: apiserver pkg/authentication/authenticator/audagnostic.go.
 */
export function audienceAgnostic(apiAudiences: readonly string[], inner: TokenAuthenticator): TokenAuthenticator {
  return {
    authenticate(token, asked) {
      if (asked === undefined) {
        const verdict = inner.authenticate(token)
        return whenReady(verdict, (known: TokenVerdict) => withAudiences(known, apiAudiences))
      }
      const audiences = apiAudiences.filter((audience) => asked.includes(audience))
      if (audiences.length === 0) return undefined
      return whenReady(inner.authenticate(token), (known: TokenVerdict) => withAudiences(known, audiences))
    },
  }
}

const withAudiences = (verdict: TokenVerdict, audiences: readonly string[]): TokenVerdict =>
  verdict === undefined || "error" in verdict ? verdict : { ...verdict, audiences }
