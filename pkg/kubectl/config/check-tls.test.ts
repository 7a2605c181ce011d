import { expect, test } from "bun:test"
import { createCa, newPrivateKey } from "../../pki/certificate.ts"
import { checkPair, checkTls } from "./check-tls.ts"

const now = Date.UTC(2026, 0, 1)
const { certPem: cert, keyPem: key } = createCa({
  commonName: "a",
  validity: { notBefore: new Date(now), notAfter: new Date(now + 86_400_000) },
})
const broken = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"

test("certificates and keys that are some are fine", () => {
  expect(() => checkTls({ tls: { ca: `junk\n${cert}${broken}`, cert, key } })).not.toThrow()
  expect(() => checkTls({ tls: { insecureSkipVerify: true, ca: "" } })).not.toThrow()
})

test.each<[tls: Parameters<typeof checkPair>[0], message: string]>([
  [{ ca: "junk" }, "unable to load root certificates: unable to parse bytes as PEM block"],
  [{ ca: key }, "unable to load root certificates: no valid certificate authority data seen"],
  [{ ca: broken }, "unable to load root certificates: failed to parse certificate: x509: malformed certificate"],
  [{ ca: cert, insecureSkipVerify: true }, "specifying a root certificates file with the insecure flag is not allowed"],
  [{ cert: "junk", key }, "tls: failed to find any PEM data in certificate input"],
  [
    { cert: key, key: cert },
    "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
  ],
  [{ cert, key: "junk" }, "tls: failed to find any PEM data in key input"],
  [{ cert, key: cert }, "tls: found a certificate rather than a key in the PEM for the private key"],
  [{ cert, key: newPrivateKey() }, "tls: private key does not match public key"],
  [{ cert: broken, key }, "x509: malformed certificate"],
])("what is no certificate or key is refused before any connection, case %#", (tls, message) => {
  expect(() => checkTls({ tls })).toThrow(message)
})

test("files of a client's certificate are checked when a connection needs them, and not before", () => {
  expect(() => checkTls({ tls: { cert: "junk", key }, hasCertFiles: true })).not.toThrow()
  expect(() => checkPair({ cert: "junk", key })).toThrow("tls: failed to find any PEM data in certificate input")
})
