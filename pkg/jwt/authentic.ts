/** Decides which tokens this cluster signed, and reads their claims. Source: pkg/serviceaccount/jwt.go. */
import { ClaimFault } from "./claims.ts"
import { KnownIssuers } from "./known-issuers.ts"
import { isSignedBy, type Json, type JsonObject, parseCompact } from "./jws.ts"
import type { VerifyingKey } from "./signing-key.ts"

/**
 * `malformed` and `unknown issuer` mean that the token is not of this cluster: another authenticator may know it. The
 * others are refusals.
 */
export type TokenRefusal =
  | "malformed"
  | "unknown issuer"
  | "unknown key"
  | "bad signature"
  | "bad claims"
  | "expired"
  | "not yet valid"
  | "wrong audience"

export interface Refused {
  readonly ok: false
  readonly reason: TokenRefusal
  /** The error in upstream's words. */
  readonly message: string
}

export const refuse = (reason: TokenRefusal, message: string): Refused => ({ ok: false, reason, message })

/**
 * Every request of a pod carries the same token for an hour, and checking its signature costs more than the rest of the
 * request. So tokens with a good signature are cached, this many. Times and audiences are checked at each request.
 */
const REMEMBERED = 4096

export interface AuthenticOptions<T> {
  readonly keys: readonly VerifyingKey[]
  readonly issuers: readonly string[]
  /** Shared with the other verifiers that are asked about the same tokens. */
  readonly known?: KnownIssuers | undefined
  /**
   * Reads the payload of a token with a good signature. Throws ClaimFault when a claim is missing or has a wrong type.
   */
  claimsOf(payload: JsonObject): T
}

/** Returns the claims of a token that one of the issuers signed. The same token returns the same claims. */
export function authentic<T>({
  keys,
  issuers,
  known: knownIssuers = new KnownIssuers(),
  claimsOf,
}: AuthenticOptions<T>): (token: string) => { readonly ok: true; readonly claims: T } | Refused {
  const remembered = new Map<string, { readonly ok: true; readonly claims: T }>()
  return (token) => {
    const known = remembered.get(token)
    if (known !== undefined) return known
    const issuer = knownIssuers.of(token)
    if (issuer !== undefined && !issuers.includes(issuer)) return unknownIssuer(issuer)
    const parsed = parseCompact(token)
    if (parsed === undefined) return refuse("malformed", "not a JSON web token")
    const { iss } = parsed.payload
    if (typeof iss !== "string" || !issuers.includes(iss)) return unknownIssuer(iss ?? "")
    const signed = isSignedBy(parsed, keys)
    if (signed === "no such key") return refuse("unknown key", "invalid signature, no keys found")
    if (signed === "no") return refuse("bad signature", "go-jose/go-jose: error in cryptographic primitive")
    try {
      const verdict = { ok: true, claims: claimsOf(parsed.payload) } as const
      if (remembered.size >= REMEMBERED) remembered.delete(remembered.keys().next().value!)
      remembered.set(token, verdict)
      knownIssuers.add(token, iss)
      return verdict
    } catch (err) {
      if (err instanceof ClaimFault) return refuse("bad claims", err.message)
      throw err
    }
  }
}

const unknownIssuer = (issuer: Json): Refused =>
  refuse("unknown issuer", `token issuer ${JSON.stringify(issuer)} is invalid`)

/** Returns those of a token's audiences that the caller asks for. A token without audiences is for the API server. */
export function commonAudiences(
  of: readonly string[],
  asked: readonly string[],
  apiAudiences: readonly string[],
): { readonly ok: true; readonly audiences: readonly string[] } | Refused {
  const audiences = of.length > 0 ? of : apiAudiences
  const common = audiences.filter((audience) => asked.includes(audience))
  return common.length > 0
    ? { ok: true, audiences: common }
    : refuse(
        "wrong audience",
        `token audiences ${goList(audiences)} is invalid for the target audiences ${goList(asked)}`,
      )
}

const goList = (items: readonly string[]): string => `[${items.map((item) => JSON.stringify(item)).join(" ")}]`
