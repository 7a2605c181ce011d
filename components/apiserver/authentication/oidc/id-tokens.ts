import type { Clock } from "../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { JsonObject, Unverified } from "../../../../pkg/jwt/jws.ts"
import { whenReady, type MaybePromise } from "../../call/maybe-promise.ts"
import type { UserInfo } from "../../call/request.ts"
import type { TokenRefused, TokenUser } from "../authenticator.ts"
import type { JWTAuthenticator } from "../configuration/fields.ts"
import { ClaimsRefused } from "./claims.ts"
import type { OidcMetrics } from "./oidc-metrics.ts"
import type { Provider } from "./provider.ts"
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from "../sign-in-config.ts"
import { isSignature, type ProviderKey } from "./signature.ts"
import { userOfClaims } from "./user-of-claims.ts"

export interface IdTokenOptions {
  readonly authenticator: JWTAuthenticator
  readonly provider: Provider
  /** The algorithms that tokens may be signed with; all of SIGNING_ALGORITHMS unless given. */
  readonly algorithms?: readonly SigningAlgorithm[] | undefined
  readonly clock: Clock
  readonly metrics?: OidcMetrics | undefined
}

/** A token may be used this long before its `nbf`, in seconds: clocks differ. Source: go-oidc verify.go. */
const LEEWAY_SECONDS = 5 * 60

/**
 * The ID tokens of one OpenID provider. A request waits only where the token's key is unknown: then the provider is
 * asked for its keys. Source: apiserver plugin/pkg/authenticator/token/oidc, go-oidc verify.go.
 */
export class IdTokens {
  readonly issuer: string
  readonly provider: Provider
  readonly #options: IdTokenOptions
  readonly #userOf: (claims: JsonObject) => UserInfo

  constructor(options: IdTokenOptions) {
    this.#options = options
    this.issuer = options.authenticator.issuer.url
    this.provider = options.provider
    this.#userOf = userOfClaims(options.authenticator)
  }

  /** Whether a token names this issuer. */
  isOf({ iss }: JsonObject): boolean {
    // Google's older tokens name their issuer without a scheme. Source: go-oidc issuerGoogleAccountsNoScheme.
    return iss === this.issuer || (iss === "accounts.google.com" && this.issuer === "https://accounts.google.com")
  }

  /** Returns the user of a token of this issuer, or why it is refused. */
  verdictOf(parsed: Unverified): MaybePromise<TokenUser | TokenRefused> {
    const { metrics } = this.#options
    const began = metrics?.now() ?? 0
    return whenReady(this.#judged(parsed), (verdict: TokenUser | TokenRefused) => {
      metrics?.authenticated(this.issuer, "user" in verdict ? "success" : "failure", began)
      return verdict
    })
  }

  /** Returns why a token that was good is not any more. */
  problemOf(claims: JsonObject): string | undefined {
    const problem = timeProblem(claims, this.#options.clock.now() / 1000)
    return problem === undefined ? undefined : `oidc: verify token: ${problem}`
  }

  #judged(parsed: Unverified): MaybePromise<TokenUser | TokenRefused> {
    const { authenticator, algorithms = SIGNING_ALGORITHMS, clock } = this.#options
    const { audiences = [] } = authenticator.issuer
    if (this.provider.problem !== undefined) return { error: "oidc: authenticator not initialized" }
    const { payload, header } = parsed
    const problem = audienceProblem(payload, audiences) ?? timeProblem(payload, clock.now() / 1000)
    if (problem !== undefined) return { error: `oidc: verify token: ${problem}` }
    const algorithm = algorithms.find((one) => one === header["alg"])
    if (algorithm === undefined)
      return {
        error: `oidc: verify token: oidc: malformed jwt: unexpected signature algorithm ${shown(header["alg"])}`,
      }
    if (isSigned(parsed, algorithm, this.provider.keys)) return this.#accepted(payload)
    const failed = "oidc: verify token: failed to verify signature"
    return this.provider.freshKeys().then(
      (keys) =>
        isSigned(parsed, algorithm, keys)
          ? this.#accepted(payload)
          : { error: `${failed}: failed to verify id token signature` },
      (err: unknown) => ({ error: `${failed}: fetching keys oidc: get keys failed: ${errorMessage(err)}` }),
    )
  }

  #accepted(claims: JsonObject): TokenUser | TokenRefused {
    try {
      return { user: this.#userOf(claims) }
    } catch (err) {
      if (err instanceof ClaimsRefused) return { error: err.message }
      throw err
    }
  }
}

const shown = (value: unknown): string => `${JSON.stringify(value) ?? "nothing"}`.slice(0, 100)

function isSigned(
  { header, input, signature }: Unverified,
  algorithm: SigningAlgorithm,
  keys: readonly ProviderKey[],
): boolean {
  const { kid } = header
  const named = kid === undefined || kid === "" ? keys : keys.filter(({ keyId }) => keyId === kid)
  return named.some((key) => isSignature(key, algorithm, input, signature))
}

function audienceProblem({ aud }: JsonObject, audiences: readonly string[]): string | undefined {
  const has = typeof aud === "string" ? [aud] : Array.isArray(aud) ? aud : []
  if (has.some((one) => typeof one === "string" && audiences.includes(one))) return undefined
  return `oidc: expected audience in ${JSON.stringify(audiences)} got ${shown(aud ?? [])}`
}

/** @param now in seconds since the epoch */
function timeProblem({ exp, nbf }: JsonObject, now: number): string | undefined {
  if (typeof exp !== "number") return "oidc: token is expired: it has no claim exp that is a number"
  if (exp < now) return `oidc: token is expired (Token Expiry: ${at(exp)})`
  if (nbf === undefined || nbf === null) return undefined
  if (typeof nbf !== "number") return "oidc: failed to unmarshal claims: nbf is no number"
  return now + LEEWAY_SECONDS < nbf
    ? `oidc: current time ${at(now)} before the nbf (not before) time: ${at(nbf)}`
    : undefined
}

const at = (seconds: number): string =>
  Math.abs(seconds) < 8.64e12 ? new Date(seconds * 1000).toISOString() : String(seconds)
