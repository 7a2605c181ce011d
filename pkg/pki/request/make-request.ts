import { Buffer } from "node:buffer"
import { createPrivateKey, createPublicKey, sign } from "node:crypto"
import { bitString, explicit, integer, oid, sequence } from "../der/der.ts"

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2"

/**
 * Makes a PKCS #10 request (RFC 2986) as PEM, which proves that its sender has the private key: an EC key as
 * `newPrivateKey` makes it. It contains no names: the signer knows by other means for whom the certificate is.
 */
export function makeCertificateRequest(keyPem: string): string {
  const key = createPrivateKey(keyPem)
  const spki = createPublicKey(key).export({ type: "spki", format: "der" })
  const info = sequence(integer(Buffer.from([0])), sequence(), spki, explicit(0))
  const der = sequence(info, sequence(oid(ECDSA_WITH_SHA256)), bitString(sign("sha256", info, key)))
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n")
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`
}
