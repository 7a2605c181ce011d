/** Which tokens are ours, and what they say. Source: pkg/serviceaccount/jwt.go. */
import { ClaimFault } from "./claims.ts"
import { isSignedBy, type JsonObject, parseCompact } from "./jws.ts"
import type { VerifyingKey } from "./signing-key.ts"

/**
 * `malformed` and `unknown issuer` mean "not one of ours": another authenticator may know it. The others are refusals.
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
  /** Upstream's words. */
  readonly message: string
}

export const refuse = (reason: TokenRefusal, message: string): Refused => ({ ok: false, reason, message })

/**
 * Every request of a pod carries the same token for an hour, and a signature costs more to check than the rest of the
 * request: so those found good are
 *  remembered. Times and audiences are looked at anew each time. */
const REMEMBERED = 4096

export interface AuthenticOptions<T> {
  readonly keys: readonly VerifyingKey[]
  readonly issuers: readonly string[]
  /** Reads a payload whose signature is good. Throws ClaimFault when it is not as it should be. */
  claimsOf(payload: JsonObject): T
}

/** Gives what a token says when one of the issuers signed it. The same token gives the same claims. */
export function authentic<T>({
  keys,
  issuers,
  claimsOf,
}: AuthenticOptions<T>): (token: string) => { readonly ok: true; readonly claims: T } | Refused {
  const remembered = new Map<string, { readonly ok: true; readonly claims: T }>()
  return (token) => {
    const known = remembered.get(token)
    if (known !== undefined) return known
    const parsed = parseCompact(token)
    if (parsed === undefined) return refuse("malformed", "not a JSON web token")
    const { iss } = parsed.payload
    if (typeof iss !== "string" || !issuers.includes(iss))
      return refuse("unknown issuer", `token issuer ${JSON.stringify(iss ?? "")} is invalid`)
    const signed = isSignedBy(parsed, keys)
    if (signed === "no such key") return refuse("unknown key", "invalid signature, no keys found")
    if (signed === "no") return refuse("bad signature", "go-jose/go-jose: error in cryptographic primitive")
    try {
      const verdict = { ok: true, claims: claimsOf(parsed.payload) } as const
      if (remembered.size >= REMEMBERED) remembered.delete(remembered.keys().next().value!)
      remembered.set(token, verdict)
      return verdict
    } catch (err) {
      if (err instanceof ClaimFault) return refuse("bad claims", err.message)
      throw err
    }
  }
}

/** Those of a token's audiences that are asked for. One without any is for the API server. */
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
