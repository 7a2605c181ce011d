import { expect, test } from "bun:test"
import type { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { Certificates } from "./certificates.ts"

const secretOf = (crt: string, key: string): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "web", namespace: "shop" },
  type: "kubernetes.io/tls",
  data: { "tls.crt": Buffer.from(crt).toString("base64"), "tls.key": Buffer.from(key).toString("base64") },
})
const certificates = new Certificates(realClock)
const { certPem, keyPem } = certificates.unsigned.pair

test.each([
  {
    title: "a damaged certificate after the first one",
    behind: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  },
  { title: "a second certificate that is truncated", behind: "-----BEGIN CERTIFICATE-----\n" },
])("a Secret with $title is refused when it is read", ({ behind }) => {
  expect(certificates.of(secretOf(certPem + behind, keyPem))).toStartWith(
    "has a tls.crt or tls.key that TLS cannot use: ",
  )
})
