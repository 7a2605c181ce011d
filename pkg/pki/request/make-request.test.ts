import { expect, test } from "bun:test"
import { createPrivateKey, createPublicKey } from "node:crypto"
import { newPrivateKey } from "../certificate.ts"
import { readCertificateRequest, readCertificateRequestDer } from "./certificate-request.ts"
import { certificateRequestOf, makeCertificateRequest, newKeyOf } from "./make-request.ts"

test("a request proves the possession of its key and contains no subject", () => {
  // given
  const keyPem = newPrivateKey()
  // when
  const pem = makeCertificateRequest(keyPem)
  // then
  const { publicKey, subject } = readCertificateRequest(pem)
  expect(publicKey).toEqual(createPublicKey(createPrivateKey(keyPem)).export({ type: "spki", format: "der" }))
  expect(subject).toEqual([])
  // and a request of another key with this signature is refused
  const other = Buffer.from(pem.replace(/-----.*-----|\n/g, ""), "base64")
  other[other.length - 1]! ^= 1
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${other.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`
  expect(() => readCertificateRequest(forged)).toThrow()
})

test.each(["ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"])(
  "a request for a key of the kind %s is signed with that key",
  async (kind) => {
    const key = await newKeyOf(kind)
    const { publicKey } = readCertificateRequestDer(certificateRequestOf(key))
    expect(publicKey).toEqual(createPublicKey(key).export({ type: "spki", format: "der" }))
  },
)
