/** Keys of a provider, and signatures by them (RFC 7517, RFC 7518). */
import { constants, createPublicKey, verify, type KeyObject } from "node:crypto"
import { isObject, type Json, type JsonObject } from "../../../../pkg/jwt/jws.ts"
import type { SigningAlgorithm } from "../sign-in-config.ts"

export interface ProviderKey {
  /** The empty text where the provider names none. */
  readonly keyId: string
  readonly key: KeyObject
}

/** More keys, or an RSA key of more bits, would make a signature expensive to check. */
const MOST_KEYS = 100
const MOST_BITS = 8192
const FEWEST_BITS = 1024

/**
 * Returns the keys of a JSON web key set. Keys for encryption, of kinds that sign nothing here, or that cannot be read,
 * are left out. @throws Error for what is no key set
 */
export function keysIn(document: Json): readonly ProviderKey[] {
  const { keys } = isObject(document) ? document : {}
  if (!Array.isArray(keys)) throw new Error("it is no JSON web key set")
  if (keys.length > MOST_KEYS) throw new Error(`it has more than ${MOST_KEYS} keys`)
  return (keys as readonly Json[]).flatMap((jwk) => {
    const key = isObject(jwk) && jwk["use"] !== "enc" ? publicKey(jwk) : undefined
    if (key === undefined) return []
    const { kid } = jwk as JsonObject
    return [{ keyId: typeof kid === "string" ? kid : "", key }]
  })
}

function publicKey({ kty, n, e, crv, x, y }: JsonObject): KeyObject | undefined {
  try {
    if (kty === "RSA") {
      const key = createPublicKey({ key: { kty, n, e } as Readonly<Record<string, string>>, format: "jwk" })
      const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
      return modulusLength < FEWEST_BITS || modulusLength > MOST_BITS ? undefined : key
    }
    if (kty === "EC")
      return createPublicKey({ key: { kty, crv, x, y } as Readonly<Record<string, string>>, format: "jwk" })
    return undefined
  } catch {
    return undefined
  }
}

const CURVES: Readonly<Record<string, string>> = { ES256: "prime256v1", ES384: "secp384r1", ES512: "secp521r1" }

/** Returns whether `key` made the signature of `input` by `algorithm`. A key of another type has made none. */
export function isSignature(
  { key }: ProviderKey,
  algorithm: SigningAlgorithm,
  input: Buffer,
  signature: Buffer,
): boolean {
  const family = algorithm.slice(0, 2)
  const digest = `sha${algorithm.slice(2)}`
  try {
    if (family === "ES")
      return (
        key.asymmetricKeyType === "ec" &&
        key.asymmetricKeyDetails?.namedCurve === CURVES[algorithm] &&
        verify(digest, input, { key, dsaEncoding: "ieee-p1363" }, signature)
      )
    if (key.asymmetricKeyType !== "rsa") return false
    return verify(
      digest,
      input,
      family === "PS"
        ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
        : { key, padding: constants.RSA_PKCS1_PADDING },
      signature,
    )
  } catch {
    return false
  }
}
