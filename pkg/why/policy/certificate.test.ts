import { expect, test } from "bun:test"
import type { Secret } from "../../api/core/v1/secret/secret.ts"
import { createCa } from "../../pki/certificate.ts"
import { certificateFinding } from "./certificate.ts"

const NOW = Date.parse("2026-01-01T00:00:00Z")
const validity = { notBefore: new Date(NOW - 3600_000), notAfter: new Date(NOW + 30 * 24 * 3600_000) }
const [one, other] = [createCa({ commonName: "one", validity }), createCa({ commonName: "other", validity })]
const base64 = (text: string): string => Buffer.from(text).toString("base64")
const secretOf = (crt: string, key: string): Secret =>
  ({
    metadata: { name: "tls", namespace: "default" },
    data: { "tls.crt": base64(crt), "tls.key": base64(key) },
  }) as unknown as Secret

test("of a certificate with the key of another one it is said that they do not belong together", () => {
  expect(certificateFinding(secretOf(one.certPem, one.keyPem), NOW)).toBeUndefined()
  expect(certificateFinding(secretOf(one.certPem, other.keyPem), NOW)?.cause).toMatchObject({
    code: "certificate-key",
    message: expect.stringContaining("the key of Secret default/tls (tls.key) is not that of its certificate"),
  })
})
