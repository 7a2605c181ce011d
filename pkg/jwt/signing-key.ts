/**
 * Keys that sign service account tokens.
 *
 * New keys are P-256 (ES256), where k3s makes RSA 2048: making one takes 10 µs and not 20–100 ms of a start that has
 * 250 ms, and a signature 15 µs and not 450 µs, on the one thread that also answers requests. Kubernetes and OIDC
 * relying parties accept both. An administrator's key may be RSA (RS256), P-384 (ES384) or P-521 (ES512) too. Clusters
 * on virtual time make an Ed25519 key from their seed: its signatures are repeatable, while those of ECDSA need random
 * numbers. Nothing outside such a cluster reads its tokens.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { Random } from "../clock/random.ts"
import { newPrivateKey, seededPrivateKey } from "../pki/certificate.ts"
import { readIfExists, replaceFile } from "../files/files.ts"

export type Algorithm = "ES256" | "ES384" | "ES512" | "RS256" | "EdDSA"

/** The algorithm of each elliptic curve, by OpenSSL's names. Source: upstream's signerFromECDSAPrivateKey. */
const CURVES: Readonly<Record<string, Algorithm>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" }
const TYPES = "P-256, P-384, P-521, RSA or Ed25519"

export interface VerifyingKey {
  /** SHA-256 of the public key's DER (SubjectPublicKeyInfo), as base64url. Source: upstream's keyIDFromPublicKey. */
  readonly keyId: string
  readonly algorithm: Algorithm
  readonly publicKey: KeyObject
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject
}

/** Returns a new P-256 key. */
export const newSigningKey = (): SigningKey => signingKey(newPrivateKey())

/** Returns a key that depends only on `random`, as do its tokens: for clusters on virtual time. */
export const seededSigningKey = (random: Random): SigningKey => signingKey(seededPrivateKey(random))

/**
 * Reads a signing key from PEM (PKCS #8, PKCS #1 or SEC 1).
 * @throws TypeError for a text without one, and for types other than P-256, P-384, P-521, RSA and Ed25519
 */
export function signingKey(pem: string): SigningKey {
  const privateKey = keyOf(() => createPrivateKey(pem), "it holds no private key in PEM that can be read")
  return { ...describe(createPublicKey(privateKey)), privateKey }
}

/**
 * Reads the key from the file `path`, which is created at first use and synced to disk. A file that cannot be read is
 * never replaced, because all tokens would become invalid.
 * @throws Error that names the file
 */
export function loadOrCreateSigningKey(path: string): SigningKey {
  const found = readIfExists(path)
  if (found !== undefined) return signingKeyOf(path, found)
  const pem = newPrivateKey()
  replaceFile(path, pem, { mode: 0o600, sync: true })
  return signingKey(pem)
}

/**
 * Returns the keys that verify tokens: of each private key, public key and certificate of a PEM text, in their order.
 * The first one signs; the later ones signed earlier tokens.
 * @throws Error for a text without keys
 */
export function verifyingKeysIn(pem: string): readonly VerifyingKey[] {
  const blocks = pem.match(/-----BEGIN ([A-Z ]*KEY|CERTIFICATE)-----[\s\S]*?-----END \1-----/g) ?? []
  if (blocks.length === 0) throw new TypeError("it holds no key in PEM")
  return blocks.map((block, i) =>
    describe(keyOf(() => createPublicKey(block), `the key at place ${i + 1} of it cannot be read`)),
  )
}

/** The texts of OpenSSL do not say what is wrong. */
function keyOf(read: () => KeyObject, fault: string): KeyObject {
  try {
    return read()
  } catch (err) {
    throw new TypeError(`${fault}: expected ${TYPES}, without a password`, { cause: err })
  }
}

/** Returns the keys in the file `path`, which must exist. @throws Error that names the file */
export function loadVerifyingKeys(path: string): readonly VerifyingKey[] {
  try {
    return verifyingKeysIn(readIfExists(path) ?? "")
  } catch (err) {
    throw unusableKey(path, err)
  }
}

// JOSE wants the two numbers of an ECDSA signature one after the other (RFC 7518 3.4), not as DER.
const ENCODING = { dsaEncoding: "ieee-p1363" } as const

/** Returns the signature of `input`. */
export const signBytes = (key: SigningKey, input: Buffer): Buffer =>
  sign(digestOf(key), input, { key: key.privateKey, ...ENCODING })

export const verifyBytes = (key: VerifyingKey, input: Buffer, signature: Buffer): boolean =>
  verify(digestOf(key), input, { key: key.publicKey, ...ENCODING }, signature)

/** Ed25519 has its own digest; the others have one in the name of their algorithm. */
const digestOf = ({ algorithm }: VerifyingKey): string | null =>
  algorithm === "EdDSA" ? null : `sha${algorithm.slice(2)}`

function signingKeyOf(path: string, pem: string): SigningKey {
  try {
    return signingKey(pem)
  } catch (err) {
    throw unusableKey(path, err)
  }
}

function unusableKey(path: string, err: unknown): Error {
  const reason = err instanceof TypeError ? err.message : "it holds no private key in PEM"
  return new Error(
    `Cannot use the key of service account tokens ${path}: ${reason}; restore the file, or remove it to ` +
      "start with a new key, which makes all existing tokens invalid",
    { cause: err },
  )
}

function describe(publicKey: KeyObject): VerifyingKey {
  const der = publicKey.export({ type: "spki", format: "der" })
  return { keyId: createHash("sha256").update(der).digest("base64url"), algorithm: algorithmOf(publicKey), publicKey }
}

function algorithmOf(publicKey: KeyObject): Algorithm {
  if (publicKey.asymmetricKeyType === "rsa") return "RS256"
  if (publicKey.asymmetricKeyType === "ed25519") return "EdDSA"
  const { namedCurve } = publicKey.asymmetricKeyDetails ?? {}
  const algorithm = CURVES[namedCurve ?? ""]
  if (algorithm !== undefined) return algorithm
  throw new TypeError(
    `Cannot sign tokens with this key: expected ${TYPES}, current type is ${namedCurve ?? publicKey.asymmetricKeyType}`,
  )
}
