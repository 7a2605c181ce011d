import { expect, test } from "bun:test"
import { generateKeyPairSync, X509Certificate } from "node:crypto"
import { authorityKeyExtension, createCa, issueCertificate, newPrivateKey } from "./certificate.ts"
import { certificateReports } from "./certificate-report.ts"
import { subjectKeyOf } from "./der/subject-key.ts"
import { authorityProblems } from "./new-authority.ts"
import { verifyCertificate } from "./verify.ts"

const DAY = 24 * 3600 * 1000
const NOW = Date.parse("2026-06-01T00:00:00Z")
const life = (from: number, until: number) => ({
  notBefore: new Date(NOW + from * DAY),
  notAfter: new Date(NOW + until * DAY),
})
const TEN_YEARS = life(-10, 3650)

const old = createCa({ commonName: "old", validity: TEN_YEARS })
const keyPem = newPrivateKey()
const root = createCa({ commonName: "new", validity: TEN_YEARS, keyPem })
const cross = createCa({ commonName: "new", validity: TEN_YEARS, keyPem, issuer: old })
const stranger = createCa({ commonName: "stranger", validity: TEN_YEARS })
const leaf = issueCertificate(old, {
  subject: { commonName: "a", organizations: [] },
  usages: ["server", "client"],
  validity: life(-1, 100),
})

const pkcs8 = { type: "pkcs8", format: "pem" } as const
const x25519 = generateKeyPairSync("x25519").privateKey.export(pkcs8).toString()
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export(pkcs8).toString()

const OPENSSL_CA = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIUbjkH882oPsncacK5dQ2+QzJf5LswCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHb3BlbnNzbDAeFw0yNjExMjMwMzA2MzFaFw0zNjExMjAwMzA2
MzFaMBIxEDAOBgNVBAMMB29wZW5zc2wwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAQPNaX1s3f0gH3AAWcGbMyYHM7sIJaS0c8wRqe7NC2fxVsgSe2UjO7kUmZyJIFD
nVmyxmXF46ZDY0+M3eVU/QQ+o1MwUTAdBgNVHQ4EFgQUd5ogYE9vDgWsxto9QSBP
HZVQ5vQwHwYDVR0jBBgwFoAUd5ogYE9vDgWsxto9QSBPHZVQ5vQwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiApp9jZt3Y56nVvf00J5z9dn3YBbWUn
QVkvYlMEa/OPmgIgXxC3fSbq4rbHtcGalDfSmF+vMnj/aDykwpA70lgmBiA=
-----END CERTIFICATE-----`
const WITHOUT_KEY_ID = `-----BEGIN CERTIFICATE-----
MIIBGDCBvwIUSQxL220yJpjWQtULDoNnmxii3jswCgYIKoZIzj0EAwIwDzENMAsG
A1UEAwwEYmFyZTAeFw0yNjExMjMwMzA2MzFaFw0zNjExMjAwMzA2MzFaMA8xDTAL
BgNVBAMMBGJhcmUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQPNaX1s3f0gH3A
AWcGbMyYHM7sIJaS0c8wRqe7NC2fxVsgSe2UjO7kUmZyJIFDnVmyxmXF46ZDY0+M
3eVU/QQ+MAoGCCqGSM49BAMCA0gAMEUCIFAZC59cg0M+TSJ3c1t/9a652zkZc+6K
2CWCGXeS9WIvAiEAh5YHSr+LzYGm+lYa8mPPzJmkTAXk78X67jogl31zs70=
-----END CERTIFICATE-----`

test.each([
  { title: "that the old one has signed", certPem: cross.certPem + root.certPem, unusable: [], untrusted: [] },
  {
    title: "with a certificate that the old one has signed after it",
    certPem: root.certPem + cross.certPem,
    unusable: [],
    untrusted: [],
  },
  {
    title: "without a signature of the old one",
    certPem: root.certPem,
    unusable: [],
    untrusted: ["new CA bundle contains only a single certificate"],
  },
  {
    title: "with a certificate of an unknown CA after it",
    certPem: root.certPem + stranger.certPem,
    unusable: [],
    untrusted: ["cannot be verified using old CA chain"],
  },
  {
    title: "with the key of another authority",
    certPem: stranger.certPem + root.certPem,
    unusable: ["cannot be loaded as X509KeyPair"],
    untrusted: [],
  },
  {
    title: "with a certificate after it that cannot be parsed",
    certPem: `${cross.certPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    unusable: ["a certificate behind the first cannot be read"],
    untrusted: [],
  },
  { title: "that is no certificate", certPem: "hello", unusable: ["holds no certificate in PEM"], untrusted: [] },
  {
    title: "that has expired",
    certPem: createCa({ commonName: "new", validity: life(-20, -1), keyPem, issuer: old }).certPem + root.certPem,
    unusable: ["the first certificate is valid from"],
    untrusted: [],
  },
  {
    title: "that is no CA",
    certPem:
      issueCertificate(old, {
        subject: { commonName: "new", organizations: [] },
        usages: ["server"],
        validity: life(-1, 9),
        keyPem,
      }).certPem + root.certPem,
    unusable: ["the first certificate is not that of an authority"],
    untrusted: [],
  },
])("a new authority $title has the expected problems", ({ certPem, unusable, untrusted }) => {
  const found = authorityProblems("server-ca", old.certPem, { certPem, keyPem }, NOW)
  expect(found.unusable.map((text) => unusable.find((part) => text.includes(part)) ?? text)).toEqual([...unusable])
  expect(found.untrusted.map((text) => untrusted.find((part) => text.includes(part)) ?? text)).toEqual([...untrusted])
})

test("an authority with an RSA key signs certificates that can be verified", () => {
  const authority = createCa({ commonName: "rsa", validity: TEN_YEARS, keyPem: rsa })
  const subject = { commonName: "a", organizations: [] }
  const { certPem } = issueCertificate(authority, { subject, usages: ["server"], validity: life(-1, 9) })
  expect(verifyCertificate(certPem, authority.certPem, { now: NOW })).toMatchObject({ ok: true })
  const bundle =
    authority.certPem + createCa({ commonName: "rsa", validity: TEN_YEARS, keyPem: rsa, issuer: old }).certPem
  expect(authorityProblems("server-ca", old.certPem, { certPem: bundle, keyPem: rsa }, NOW)).toEqual({
    unusable: [],
    untrusted: [],
  })
})

test("a certificate is not signed with a key of another type", () => {
  expect(() => createCa({ commonName: "new", validity: TEN_YEARS, keyPem: x25519 })).toThrow(
    "expected ECDSA, RSA or Ed25519, current type is x25519",
  )
})

test.each([
  { after: 0, status: "WARNING", residualDays: 100 },
  { after: -2, status: "NOT YET VALID", residualDays: 102 },
  { after: 101, status: "EXPIRED", residualDays: -1 },
] as const)("a certificate is $status $after days later", ({ after, status, residualDays }) => {
  const [report] = certificateReports(leaf.certPem, NOW + after * DAY)
  expect(report).toEqual({
    subject: "a",
    issuer: "old",
    usages: ["ServerAuth", "ClientAuth"],
    expires: NOW + (status === "NOT YET VALID" ? -1 : 100) * DAY,
    residualMs: residualDays * DAY,
    status,
  })
})

test.each([
  { title: "made by k3ts", pem: root.certPem, wants: /^[0-9a-f]{40}$/ },
  // Made by openssl req -x509, whose identifier is the digest of other bytes than ours.
  { title: "made by OpenSSL", pem: OPENSSL_CA, wants: /^779a20604f6f0e05acc6da3d41204f1d9550e6f4$/ },
  { title: "without a subject key identifier", pem: WITHOUT_KEY_ID, wants: /^none$/ },
])("the authority key identifier is that of the authority's certificate: $title", ({ pem, wants }) => {
  expect(subjectKeyOf(new X509Certificate(pem))?.toString("hex") ?? "none").toMatch(wants)
  const [named] = authorityKeyExtension(new X509Certificate(pem))
  expect(named === undefined).toBe(wants.test("none"))
})

test("each certificate of a bundle is reported", () => {
  expect(certificateReports(cross.certPem + root.certPem, NOW)).toMatchObject([
    { subject: "new", issuer: "old", usages: ["CertSign"], status: "OK" },
    { subject: "new", issuer: "new", usages: ["CertSign"], status: "OK" },
  ])
})
