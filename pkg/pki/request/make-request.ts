import { Buffer } from "node:buffer"
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from "node:crypto"
import { bitString, explicit, integer, NULL, oid, sequence } from "../der/der.ts"
import { pemOf } from "../der/pem.ts"

/** By the key's type or curve: the algorithm of the signature (RFC 5758, RFC 4055, RFC 8410), and its digest. */
const SIGNATURES: Readonly<Record<string, { readonly algorithm: Buffer; readonly digest: string | null }>> = {
  prime256v1: { algorithm: sequence(oid("1.2.840.10045.4.3.2")), digest: "sha256" },
  secp384r1: { algorithm: sequence(oid("1.2.840.10045.4.3.3")), digest: "sha384" },
  secp521r1: { algorithm: sequence(oid("1.2.840.10045.4.3.4")), digest: "sha512" },
  rsa: { algorithm: sequence(oid("1.2.840.113549.1.1.11"), NULL), digest: "sha256" },
  ed25519: { algorithm: sequence(oid("1.3.101.112")), digest: null },
}

/**
 * Makes a PKCS #10 request (RFC 2986) as DER, which proves that its sender has the private key. It contains no names:
 * the signer knows by other means for whom the certificate is. @throws TypeError for another kind of key
 */
export function certificateRequestOf(key: KeyObject): Buffer {
  const { asymmetricKeyType: type = "", asymmetricKeyDetails: details } = key
  const signature = SIGNATURES[type === "ec" ? (details?.namedCurve ?? "") : type]
  if (signature === undefined) throw new TypeError(`cannot request a certificate for a key of type ${type}`)
  const spki = createPublicKey(key).export({ type: "spki", format: "der" })
  const info = sequence(integer(Buffer.from([0])), sequence(), spki, explicit(0))
  return sequence(info, signature.algorithm, bitString(sign(signature.digest, info, key)))
}

/** Makes such a request as PEM, for a private key as PEM. */
export const makeCertificateRequest = (keyPem: string): string =>
  pemOf("CERTIFICATE REQUEST", certificateRequestOf(createPrivateKey(keyPem)))

/** The kinds of keys that pods can have certificates for, by the API's names. */
const CURVES: Readonly<Record<string, string>> = { ECDSAP256: "P-256", ECDSAP384: "P-384", ECDSAP521: "P-521" }
const RSA_BITS: Readonly<Record<string, number>> = { RSA3072: 3072, RSA4096: 4096 }

/**
 * Makes a private key of a kind that pods can ask for, such as ECDSAP256. RSA keys take up to seconds, in another
 * thread. @throws TypeError for an unknown kind
 */
export async function newKeyOf(kind: string): Promise<KeyObject> {
  const namedCurve = CURVES[kind]
  if (namedCurve !== undefined) return generateKeyPairSync("ec", { namedCurve }).privateKey
  if (kind === "ED25519") return generateKeyPairSync("ed25519").privateKey
  const modulusLength = RSA_BITS[kind]
  if (modulusLength === undefined) throw new TypeError(`unknown key type ${JSON.stringify(kind)}`)
  return new Promise((resolve, reject) =>
    generateKeyPair("rsa", { modulusLength }, (err, _publicKey, privateKey) =>
      err === null ? resolve(privateKey) : reject(err),
    ),
  )
}
