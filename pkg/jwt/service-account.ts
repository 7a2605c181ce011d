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
import type { KnownIssuers } from "./known-issuers.ts"
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
  const by: Signing = { key, issuer }
  return {
    issue(request) {
      return new LateToken(by, request, Math.floor(clock.now() / 1000), uuid(random))
    },
  }
}

/**
 * A class instead of a closure, which would keep all that was at hand when the token was issued. Its fields are those
 * of the request one by one, because each running pod of a large test cluster has such a token.
 */
class LateToken implements IssuedToken {
  readonly id: string
  readonly #by: Signing
  readonly #now: number
  readonly #namespace: string
  readonly #account: string
  readonly #accountUid: string
  readonly #audiences: readonly string[]
  readonly #expirationSeconds: number
  readonly #warnAfterSeconds: number | undefined
  readonly #pod: string | undefined
  readonly #podUid: string | undefined
  readonly #node: string | undefined
  readonly #nodeUid: string | undefined
  readonly #secret: ObjectRef | undefined
  #token: string | undefined

  constructor(by: Signing, request: TokenRequest, now: number, id: string) {
    const { serviceAccount, pod, node } = request
    this.id = id
    this.#by = by
    this.#now = now
    this.#namespace = request.namespace
    this.#account = serviceAccount.name
    this.#accountUid = serviceAccount.uid
    this.#audiences = request.audiences
    this.#expirationSeconds = request.expirationSeconds
    this.#warnAfterSeconds = request.warnAfterSeconds
    this.#pod = pod?.name
    this.#podUid = pod?.uid
    this.#node = node?.name
    this.#nodeUid = node?.uid
    this.#secret = request.secret
  }

  get expiresAt(): number {
    return (this.#now + this.#expirationSeconds) * 1000
  }
  get token(): string {
    return (this.#token ??= signCompact(this.#by.key, this.#claims))
  }

  get #claims(): JsonObject {
    const now = this.#now
    const secret = this.#secret
    const warnAfter = this.#warnAfterSeconds
    return {
      aud: this.#audiences,
      exp: now + this.#expirationSeconds,
      iat: now,
      iss: this.#by.issuer,
      jti: this.id,
      "kubernetes.io": {
        namespace: this.#namespace,
        node: this.#node === undefined ? undefined : { name: this.#node, uid: this.#nodeUid },
        pod: this.#pod === undefined ? undefined : { name: this.#pod, uid: this.#podUid },
        secret: secret && { name: secret.name, uid: secret.uid },
        serviceaccount: { name: this.#account, uid: this.#accountUid },
        warnafter: warnAfter === undefined ? undefined : now + warnAfter,
      },
      nbf: now,
      sub: usernameOf(this.#namespace, this.#account),
    }
  }
}

/** With what tokens are signed, and in whose name. */
interface Signing {
  readonly key: SigningKey
  readonly issuer: string
}

export interface TokenVerifierOptions {
  readonly keys: readonly VerifyingKey[]
  /** Tokens are issued under the first; tokens of the others are accepted. */
  readonly issuers?: readonly string[]
  /** The audiences of the API server; also those of tokens without any. */
  readonly apiAudiences?: readonly string[]
  /** Shared with the verifier of legacy tokens. */
  readonly known?: KnownIssuers
  readonly clock: Clock
}

export interface TokenVerifier {
  /** `audiences`: the audiences that the caller asks for; the API server itself when left out. */
  verify(token: string, audiences?: readonly string[]): TokenVerdict
}

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { keys, issuers = [DEFAULT_ISSUER], known, clock } = options
  const apiAudiences = options.apiAudiences ?? issuers
  const read = authentic({ keys, issuers, known, claimsOf })
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
