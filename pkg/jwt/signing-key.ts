/** Keys that sign service account tokens.
 *
 *  New keys are P-256 (ES256), where k3s makes RSA 2048: making one takes 10 µs and not 20–100 ms of a start that has
 *  250 ms, and a
 *  signature 15 µs and not 450 µs, on the one thread that also answers requests. Kubernetes and OIDC relying parties
 *  accept both.
 *  An RSA key brought along signs RS256. Clusters on virtual time take an Ed25519 key from their seed: its signatures
 *  repeat, where
 *  those of ECDSA hang on chance; nobody outside such a cluster reads its tokens. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { Random } from "../clock/random.ts"
import { newPrivateKey, seededPrivateKey } from "../pki/certificate.ts"
import { readIfExists, replaceFile } from "../files/files.ts"

export type Algorithm = "ES256" | "RS256" | "EdDSA"

export interface VerifyingKey {
  /** base64url of the SHA-256 of the public key's DER (SubjectPublicKeyInfo), as upstream's keyIDFromPublicKey. */
  readonly keyId: string
  readonly algorithm: Algorithm
  readonly publicKey: KeyObject
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject
}

/** A fresh P-256 key. */
export const newSigningKey = (): SigningKey => signingKey(newPrivateKey())

/** A key that follows from `random` alone, and whose tokens do too: for clusters on virtual time. */
export const seededSigningKey = (random: Random): SigningKey => signingKey(seededPrivateKey(random))

/** A signing key from PEM (PKCS #8, PKCS #1 or SEC 1). Throws TypeError for anything but P-256, RSA and Ed25519. */
export function signingKey(pem: string): SigningKey {
  const privateKey = createPrivateKey(pem)
  return { ...describe(createPublicKey(privateKey)), privateKey }
}

/**
 * The key in the file `path`, made at first use. Synced to disk: with it lost, every token would be, so one that cannot
 * be read is not replaced.
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
 * The keys that verify tokens: of each private and each public key of a PEM text, in their order. The first is the one
 * that signs, later ones are those that have signed before. @throws Error for a text without keys
 */
export function verifyingKeysIn(pem: string): readonly VerifyingKey[] {
  const blocks = pem.match(/-----BEGIN [A-Z ]*KEY-----[\s\S]*?-----END [A-Z ]*KEY-----/g) ?? []
  if (blocks.length === 0) throw new TypeError("it holds no key in PEM")
  return blocks.map((block) => describe(createPublicKey(block)))
}

/** The keys of the file `path`, which must be there. @throws Error that names the file */
export function loadVerifyingKeys(path: string): readonly VerifyingKey[] {
  try {
    return verifyingKeysIn(readIfExists(path) ?? "")
  } catch (err) {
    throw unusableKey(path, err)
  }
}

// JOSE wants the two numbers of an ECDSA signature side by side (RFC 7518 3.4), not in DER.
const ENCODING = { dsaEncoding: "ieee-p1363" } as const

/** The signature over `input`. */
export const signBytes = (key: SigningKey, input: Buffer): Buffer =>
  sign(digestOf(key), input, { key: key.privateKey, ...ENCODING })

export const verifyBytes = (key: VerifyingKey, input: Buffer, signature: Buffer): boolean =>
  verify(digestOf(key), input, { key: key.publicKey, ...ENCODING }, signature)

/** Ed25519 brings its own. */
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
      "start with a new key, with which all tokens so far are void",
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
