/**
 * Keys that sign service account tokens.
 *
 * New keys are P-256 (ES256), where k3s makes RSA 2048: making one takes 10 µs and not 20–100 ms of a start that has
 * 250 ms, and a signature 15 µs and not 450 µs, on the one thread that also answers requests. Kubernetes and OIDC
 * relying parties accept both. An RSA key of an administrator signs RS256. Clusters on virtual time make an Ed25519 key
 * from their seed: its signatures are repeatable, while those of ECDSA need random numbers. Nothing outside such a
 * cluster reads its tokens.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { Random } from "../clock/random.ts"
import { newPrivateKey, seededPrivateKey } from "../pki/certificate.ts"
import { readIfExists, replaceFile } from "../files/files.ts"

export type Algorithm = "ES256" | "RS256" | "EdDSA"

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
 * @throws TypeError for types other than P-256, RSA and Ed25519
 */
export function signingKey(pem: string): SigningKey {
  const privateKey = createPrivateKey(pem)
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
  return blocks.map((block) => describe(createPublicKey(block)))
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

/** Ed25519 has its own digest. */
const digestOf = ({ algorithm }: VerifyingKey): "sha256" | null => (algorithm === "EdDSA" ? null : "sha256")

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
  if (publicKey.asymmetricKeyDetails?.namedCurve === "prime256v1") return "ES256"
  throw new TypeError(
    `Cannot sign tokens with this key: expected P-256, RSA or Ed25519, current type is ${publicKey.asymmetricKeyType}`,
  )
}
