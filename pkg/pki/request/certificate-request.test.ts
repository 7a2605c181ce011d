import { describe, expect, test } from "bun:test"
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from "node:crypto"
import { seededRandom } from "../../clock/random.ts"
import { createCa } from "../certificate.ts"
import { CertificateRequestError, readCertificateRequest } from "./certificate-request.ts"
import { bitString, explicit, implicit, integer, octetString, oid, sequence, set, utf8String } from "../der/der.ts"
import { signRequest } from "./sign-request.ts"
import { verifyCertificate } from "../verify.ts"

const NOW = Date.parse("2026-01-01T00:00:00Z")
const validity = { notBefore: new Date(NOW - 300_000), notAfter: new Date(NOW + 3_600_000) }
const ca = createCa({ commonName: "ca", validity: { notBefore: validity.notBefore, notAfter: new Date(NOW + 9e7) } })

const attribute = (type: string, value: string) => set(sequence(oid(type), utf8String(value)))
const JANE = [attribute("2.5.4.10", "developers"), attribute("2.5.4.10", "testers"), attribute("2.5.4.3", "jane")]
const alternativeNames = (...names: readonly Buffer[]) =>
  explicit(
    0,
    sequence(oid("1.2.840.113549.1.9.14"), set(sequence(sequence(oid("2.5.29.17"), octetString(sequence(...names)))))),
  )

interface Wanted {
  readonly subject?: readonly Buffer[]
  readonly attributes?: Buffer
  readonly key?: KeyObject
  readonly algorithm?: string
  readonly digest?: string | null
}
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
function derOf({
  subject = JANE,
  attributes = explicit(0),
  key = EC,
  algorithm = "1.2.840.10045.4.3.2",
  digest = "sha256",
}: Wanted = {}): Buffer {
  const spki = createPublicKey(createPrivateKey(key.export({ type: "pkcs8", format: "pem" }))).export({
    type: "spki",
    format: "der",
  })
  const info = sequence(integer(Buffer.from([0])), sequence(...subject), spki, attributes)
  return sequence(info, sequence(oid(algorithm)), bitString(sign(digest, info, key)))
}
const pemOf = (der: Buffer, label = "CERTIFICATE REQUEST") =>
  `-----BEGIN ${label}-----\n${der.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END ${label}-----\n`

describe("a certificate request", () => {
  test("contains the subject and the requested names", () => {
    const attributes = alternativeNames(
      implicit(2, Buffer.from("a.example.com")),
      implicit(7, Buffer.from([10, 0, 0, 1])),
      implicit(1, Buffer.from("jane@example.com")),
      implicit(6, Buffer.from("spiffe://a/b")),
    )
    expect(readCertificateRequest(pemOf(derOf({ attributes })))).toMatchObject({
      commonName: "jane",
      organizations: ["developers", "testers"],
      dnsNames: ["a.example.com"],
      ipAddresses: [Buffer.from([10, 0, 0, 1])],
      emailAddresses: ["jane@example.com"],
      uris: ["spiffe://a/b"],
    })
  })

  test.each([
    {
      title: "RSA",
      make: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
      algorithm: "1.2.840.113549.1.1.11",
    },
    {
      title: "P-384",
      make: () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
      algorithm: "1.2.840.10045.4.3.3",
    },
    { title: "Ed25519", make: () => generateKeyPairSync("ed25519"), algorithm: "1.3.101.112" },
  ])("can have a key of $title", ({ make, algorithm }) => {
    const digest = algorithm === "1.3.101.112" ? null : algorithm.endsWith(".3.3") ? "sha384" : "sha256"
    const der = derOf({ key: make().privateKey, algorithm, digest })
    expect(readCertificateRequest(pemOf(der)).commonName).toBe("jane")
  })

  const certificateLabel = pemOf(derOf(), "CERTIFICATE")
  test.each([
    { title: "no PEM", pem: "jane", wants: "PEM block type must be CERTIFICATE REQUEST" },
    { title: "another PEM block", pem: certificateLabel, wants: "PEM block type must be CERTIFICATE REQUEST" },
    { title: "too many bytes", pem: `${"x".repeat(200_000)}`, wants: "may not be larger than 65536 bytes" },
    { title: "trailing bytes", pem: pemOf(Buffer.concat([derOf(), Buffer.from([0])])), wants: "trailing data" },
    {
      title: "a SHA-1 signature",
      pem: pemOf(derOf({ algorithm: "1.2.840.10045.4.1" })),
      wants: "algorithm unimplemented",
    },
    {
      title: "the algorithm of an RSA signature",
      pem: pemOf(derOf({ algorithm: "1.2.840.113549.1.1.11" })),
      wants: "another kind",
    },
    { title: "another digest", pem: pemOf(derOf({ digest: "sha512" })), wants: "signature of the certificate request" },
    {
      title: "an address of three bytes",
      pem: pemOf(derOf({ attributes: alternativeNames(implicit(7, Buffer.from([1, 2, 3]))) })),
      wants: "no IP address",
    },
    {
      title: "letters beyond ASCII in a DNS name",
      pem: pemOf(derOf({ attributes: alternativeNames(implicit(2, Buffer.from([0xe9]))) })),
      wants: "no IA5String",
    },
  ])("is refused with $title", ({ pem, wants }) => {
    expect(() => readCertificateRequest(pem)).toThrow(wants)
  })

  test("with any byte changed, truncated anywhere or of random bytes is refused without an exception", () => {
    const whole = derOf({ attributes: alternativeNames(implicit(2, Buffer.from("a.example.com"))) })
    const random = seededRandom(7)
    const hostile = [
      ...Array.from(whole, (octet, i) => {
        const changed = Buffer.from(whole)
        changed[i] = octet ^ (1 << (i % 8))
        return changed
      }),
      ...Array.from(whole, (_, i) => whole.subarray(0, i)),
      ...Array.from({ length: 300 }, (_, i) => Buffer.from([0x30, ...random.bytes(i)])),
      Buffer.alloc(40_000, 0x30),
      Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
      Buffer.from([0x30, 0x80, 0, 0]),
    ]
    for (const der of hostile) expect(() => readCertificateRequest(pemOf(der))).toThrow(CertificateRequestError)
  })
})

describe("a signed certificate", () => {
  const attributes = alternativeNames(
    implicit(2, Buffer.from("a.example.com")),
    implicit(7, Buffer.from([10, 0, 0, 1])),
  )
  const request = readCertificateRequest(pemOf(derOf({ attributes })))

  test("has the subject, names and usages of the request, and is no CA", () => {
    const usages = ["client auth", "digital signature", "key encipherment"]
    const pem = signRequest(ca, request, { usages, validity })
    expect(verifyCertificate(pem, ca.certPem, { now: NOW })).toMatchObject({
      ok: true,
      subject: { commonName: "jane", organizations: ["testers", "developers"] },
    })
    const certificate = new X509Certificate(pem)
    expect(certificate).toMatchObject({
      ca: false,
      subjectAltName: "DNS:a.example.com, IP Address:10.0.0.1",
      keyUsage: ["1.3.6.1.5.5.7.3.2"],
      validTo: "Jan  1 01:00:00 2026 GMT",
    })
    expect(certificate.publicKey.equals(createPublicKey(EC.export({ type: "pkcs8", format: "pem" })))).toBe(true)
  })

  test("expires at the latest with its authority", () => {
    const long = { ...validity, notAfter: new Date(NOW + 1e12) }
    const pem = signRequest(ca, request, { usages: ["client auth"], validity: long })
    expect(new X509Certificate(pem).validTo).toBe(new X509Certificate(ca.certPem).validTo)
  })
})
