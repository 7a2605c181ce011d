/**
 * Reads the claims of service account tokens strictly: a claim of a wrong type is an error, as in Go, and is never
 * treated as absent. Sources: RFC 7519 4.1, pkg/serviceaccount/claims.go, go-jose jwt/claims.go.
 */
import { isObject, type Json, type JsonObject } from "./jws.ts"

export interface ObjectRef {
  readonly name: string
  readonly uid: string
}

/** The claims of a verified token. Times are seconds since the epoch. */
export interface ServiceAccountClaims {
  readonly issuer: string
  /** `system:serviceaccount:NAMESPACE:NAME`, of the namespace and the account in the token's `kubernetes.io` claim. */
  readonly subject: string
  /** Empty in legacy tokens, whose audience is the API server. */
  readonly audiences: readonly string[]
  readonly id: string | undefined
  readonly issuedAt: number | undefined
  readonly notBefore: number | undefined
  readonly expiresAt: number | undefined
  readonly namespace: string
  readonly serviceAccount: ObjectRef
  readonly pod: ObjectRef | undefined
  readonly secret: ObjectRef | undefined
  readonly node: ObjectRef | undefined
  readonly warnAfter: number | undefined
}

/** How far clocks may differ when times are checked: go-jose's default. */
const LEEWAY_SECONDS = 60

export const usernameOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`

/**
 * Returns the claims in a payload whose signature is good.
 * @throws ClaimFault when one has a wrong type, when the account is not named, or when the subject is not that account
 */
export function claimsOf(payload: JsonObject): ServiceAccountClaims {
  const bound = payload["kubernetes.io"]
  if (!isObject(bound)) throw new ClaimFault("kubernetes.io", "must be an object")
  const namespace = text(bound, "namespace") ?? ""
  const serviceAccount = reference(bound, "serviceaccount")
  if (namespace === "" || serviceAccount === undefined || serviceAccount.name === "")
    throw new ClaimFault("kubernetes.io", "must name a namespace and a service account")
  const subject = usernameOf(namespace, serviceAccount.name)
  // Upstream does not check it. A token that names two different accounts must not authenticate either.
  if (text(payload, "sub") !== subject) throw new ClaimFault("sub", `must be ${subject}`)
  return {
    issuer: text(payload, "iss") ?? "",
    subject,
    audiences: audiences(payload),
    id: text(payload, "jti"),
    issuedAt: seconds(payload, "iat"),
    notBefore: seconds(payload, "nbf"),
    expiresAt: seconds(payload, "exp"),
    namespace,
    serviceAccount,
    pod: reference(bound, "pod"),
    secret: reference(bound, "secret"),
    node: reference(bound, "node"),
    warnAfter: seconds(bound, "warnafter"),
  }
}

/**
 * Returns why a token is not valid at a time, in upstream's words; undefined when it is. `now` is in seconds since the
 * epoch.
 */
export function outOfTime(
  { notBefore, expiresAt, issuedAt }: ServiceAccountClaims,
  now: number,
): { readonly reason: "expired" | "not yet valid"; readonly message: string } | undefined {
  if (notBefore !== undefined && now + LEEWAY_SECONDS < notBefore)
    return { reason: "not yet valid", message: "service account token is not valid yet" }
  if (expiresAt !== undefined && now - LEEWAY_SECONDS > expiresAt)
    return { reason: "expired", message: "service account token has expired" }
  if (issuedAt !== undefined && now + LEEWAY_SECONDS < issuedAt)
    return { reason: "not yet valid", message: "service account token is issued in the future" }
  return undefined
}

/** A claim that is missing, of a wrong type or contradictory. */
export class ClaimFault extends Error {
  override readonly name = "ClaimFault"
  constructor(claim: string, why: string) {
    super(`Cannot accept claim ${JSON.stringify(claim)}: ${why}`)
  }
}

/** Returns a claim. Null counts as absent, as in Go. */
const given = (of: JsonObject, claim: string): Json | undefined =>
  Object.hasOwn(of, claim) ? (of[claim] ?? undefined) : undefined

export function text(of: JsonObject, claim: string): string | undefined {
  const value = given(of, claim)
  if (value === undefined || typeof value === "string") return value
  throw new ClaimFault(claim, "must be a string")
}

function seconds(of: JsonObject, claim: string): number | undefined {
  const value = given(of, claim)
  if (value === undefined) return undefined
  if (typeof value !== "number" || !Number.isFinite(value)) throw new ClaimFault(claim, "must be a number")
  return Math.trunc(value)
}

/** Returns the audiences. A single one may be a bare string (RFC 7519 4.1.3). */
export function audiences(of: JsonObject): readonly string[] {
  const value = given(of, "aud")
  if (value === undefined) return []
  if (typeof value === "string") return [value]
  if (Array.isArray(value) && value.every((entry): entry is string => typeof entry === "string")) return value
  throw new ClaimFault("aud", "must be a string or a list of strings")
}

function reference(of: JsonObject, claim: string): ObjectRef | undefined {
  const value = given(of, claim)
  if (value === undefined) return undefined
  if (!isObject(value)) throw new ClaimFault(claim, "must be an object")
  return { name: text(value, "name") ?? "", uid: text(value, "uid") ?? "" }
}
