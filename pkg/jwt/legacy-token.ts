/**
 * Tokens in Secrets, which do not expire. They are valid as long as the Secret exists. Source:
 * pkg/serviceaccount/legacy.go.
 */
import { authentic, commonAudiences, type Refused } from "./authentic.ts"
import { audiences, ClaimFault, type ObjectRef, text, usernameOf } from "./claims.ts"
import { type JsonObject, signCompact } from "./jws.ts"
import type { KnownIssuers } from "./known-issuers.ts"
import type { SigningKey, VerifyingKey } from "./signing-key.ts"

export const LEGACY_ISSUER = "kubernetes/serviceaccount"

export interface LegacyClaims {
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  readonly subject: string
  /** Empty in all tokens that this cluster issues. */
  readonly audiences: readonly string[]
  readonly namespace: string
  readonly serviceAccount: ObjectRef
  /** The Secret that holds the token. */
  readonly secretName: string
}

/** The Secret that will hold the token, and the account that the token authenticates. */
export type LegacyTokenRequest = Pick<LegacyClaims, "namespace" | "serviceAccount" | "secretName">

const CLAIM = {
  namespace: "kubernetes.io/serviceaccount/namespace",
  secret: "kubernetes.io/serviceaccount/secret.name",
  name: "kubernetes.io/serviceaccount/service-account.name",
  uid: "kubernetes.io/serviceaccount/service-account.uid",
} as const

/** Returns the token for a Secret. */
export const signLegacyToken = (
  key: SigningKey,
  { namespace, serviceAccount, secretName }: LegacyTokenRequest,
): string =>
  signCompact(key, {
    iss: LEGACY_ISSUER,
    [CLAIM.namespace]: namespace,
    [CLAIM.secret]: secretName,
    [CLAIM.name]: serviceAccount.name,
    [CLAIM.uid]: serviceAccount.uid,
    sub: usernameOf(namespace, serviceAccount.name),
  })

export interface LegacyTokenVerifier {
  /** `audiences`: the audiences that the caller asks for; the API server itself when left out. */
  verify(
    token: string,
    audiences?: readonly string[],
  ): { readonly ok: true; readonly claims: LegacyClaims; readonly audiences: readonly string[] } | Refused
}

/**
 * Returns a verifier of legacy tokens. A token that verifies was signed by this cluster. The caller must check that its
 * Secret still holds it.
 */
export function createLegacyTokenVerifier({
  keys,
  apiAudiences,
  known,
}: {
  keys: readonly VerifyingKey[]
  apiAudiences: readonly string[]
  /** Shared with the verifier of the other service account tokens. */
  known?: KnownIssuers
}): LegacyTokenVerifier {
  const read = authentic({ keys, issuers: [LEGACY_ISSUER], known, claimsOf })
  return {
    verify(token, asked = apiAudiences) {
      const verdict = read(token)
      if (!verdict.ok) return verdict
      const common = commonAudiences(verdict.claims.audiences, asked, apiAudiences)
      return common.ok ? { ...common, claims: verdict.claims } : common
    },
  }
}

function claimsOf(payload: JsonObject): LegacyClaims {
  const given = (claim: string): string => {
    const value = text(payload, claim) ?? ""
    if (value === "") throw new ClaimFault(claim, "must be given")
    return value
  }
  const namespace = given(CLAIM.namespace)
  const serviceAccount = { name: given(CLAIM.name), uid: given(CLAIM.uid) }
  const subject = usernameOf(namespace, serviceAccount.name)
  if (given("sub") !== subject) throw new ClaimFault("sub", `must be ${subject}`)
  return { subject, audiences: audiences(payload), namespace, serviceAccount, secretName: given(CLAIM.secret) }
}
