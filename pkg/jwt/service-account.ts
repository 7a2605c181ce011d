/**
 * Issues and verifies service account tokens. Sources: pkg/serviceaccount/claims.go and jwt.go, KEP-1205 (bound
 * tokens), KEP-4193 (jti, node).
 *
 * A token that verifies here was signed by this cluster for these audiences and has not expired. The API server's
 * authenticator checks that the account, pod, secret or node that it is bound to still exists (with the same uid).
 */
import type { Clock } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import { authentic, commonAudiences, refuse, type Refused } from "./authentic.ts"
import { claimsOf, type ObjectRef, outOfTime, type ServiceAccountClaims, usernameOf } from "./claims.ts"
import { signCompact, type JsonObject } from "./jws.ts"
import type { SigningKey, VerifyingKey } from "./signing-key.ts"

export const DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"

export interface TokenRequest {
  readonly namespace: string
  readonly serviceAccount: ObjectRef
  readonly audiences: readonly string[]
  readonly expirationSeconds: number
  readonly pod?: ObjectRef
  readonly secret?: ObjectRef
  /** In a pod's token the node that the pod runs on. Without a pod, the node that the token is bound to. */
  readonly node?: { readonly name: string; readonly uid?: string }
  /**
   * Seconds from now after which use of the token is reported as stale: for tokens that are valid longer than was asked
   * for.
   */
  readonly warnAfterSeconds?: number
}

export type TokenVerdict =
  | {
      readonly ok: true
      readonly claims: ServiceAccountClaims
      /** Those of the requested audiences that the token is for. */ readonly audiences: readonly string[]
    }
  | Refused

export interface IssuedToken {
  /** Signed when it is first read: of the tokens in volumes of simulated pods hardly any is. */
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** The token's id (`jti`), for audit. */
  readonly id: string
}

export interface TokenIssuer {
  issue(request: TokenRequest): IssuedToken
}

export function createTokenIssuer({
  key,
  issuer = DEFAULT_ISSUER,
  clock,
  random,
}: {
  key: SigningKey
  issuer?: string
  clock: Clock
  random: Random
}): TokenIssuer {
  return {
    issue(request) {
      return new LateToken(key, issuer, request, Math.floor(clock.now() / 1000), uuid(random))
    },
  }
}

/** A class instead of a closure, which would keep all that was at hand when the token was issued. */
class LateToken implements IssuedToken {
  readonly id: string
  readonly #key: SigningKey
  readonly #issuer: string
  readonly #request: TokenRequest
  readonly #now: number
  #token: string | undefined

  constructor(key: SigningKey, issuer: string, request: TokenRequest, now: number, id: string) {
    this.#key = key
    this.#issuer = issuer
    this.#request = request
    this.#now = now
    this.id = id
  }

  get expiresAt(): number {
    return (this.#now + this.#request.expirationSeconds) * 1000
  }
  get token(): string {
    return (this.#token ??= signCompact(this.#key, claimsFor(this.#request, this.#issuer, this.#now, this.id)))
  }
}

function claimsFor(request: TokenRequest, issuer: string, now: number, jti: string): JsonObject {
  const { pod, secret, node, warnAfterSeconds } = request
  return {
    aud: request.audiences,
    exp: now + request.expirationSeconds,
    iat: now,
    iss: issuer,
    jti,
    "kubernetes.io": {
      namespace: request.namespace,
      node: node && { name: node.name, uid: node.uid },
      pod: pod && { name: pod.name, uid: pod.uid },
      secret: secret && { name: secret.name, uid: secret.uid },
      serviceaccount: { name: request.serviceAccount.name, uid: request.serviceAccount.uid },
      warnafter: warnAfterSeconds === undefined ? undefined : now + warnAfterSeconds,
    },
    nbf: now,
    sub: usernameOf(request.namespace, request.serviceAccount.name),
  }
}

export interface TokenVerifierOptions {
  readonly keys: readonly VerifyingKey[]
  /** Tokens are issued under the first; tokens of the others are accepted. */
  readonly issuers?: readonly string[]
  /** The audiences of the API server; also those of tokens without any. */
  readonly apiAudiences?: readonly string[]
  readonly clock: Clock
}

export interface TokenVerifier {
  /** `audiences`: the audiences that the caller asks for; the API server itself when left out. */
  verify(token: string, audiences?: readonly string[]): TokenVerdict
}

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { keys, issuers = [DEFAULT_ISSUER], clock } = options
  const apiAudiences = options.apiAudiences ?? issuers
  const read = authentic({ keys, issuers, claimsOf })
  return {
    verify(token, audiences = apiAudiences) {
      const verdict = read(token)
      if (!verdict.ok) return verdict
      const { claims } = verdict
      const common = commonAudiences(claims.audiences, audiences, apiAudiences)
      if (!common.ok) return common
      const problem = outOfTime(claims, clock.now() / 1000)
      return problem === undefined ? { ...common, claims } : refuse(problem.reason, problem.message)
    },
  }
}

/** A version 4 UUID from the given source. */
function uuid(random: Random): string {
  const bytes = Buffer.from(random.bytes(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}
