import { expect, test } from "bun:test"
import { openClusterPki } from "../../../pkg/pki/cluster-pki.ts"
import { verifyCertificate } from "../../../pkg/pki/verify.ts"
import { frontProxyCertificates } from "./serving.ts"

const DAY_MS = 86_400_000

test("the certificate of the front proxy is kept for most of its lifetime, and then issued again", () => {
  // given
  let now = Date.parse("2026-01-01T00:00:00Z")
  const pki = openClusterPki({ now: () => now })
  const certificate = frontProxyCertificates(() => now)
  const files = { pki }
  const first = certificate(files)
  // when
  now += 240 * DAY_MS
  expect(certificate(files)).toBe(first)
  now += 10 * DAY_MS
  const second = certificate(files)
  // then
  expect(second).not.toBe(first)
  now += 300 * DAY_MS
  const proved = verifyCertificate(second.certPem, pki.authorities["request-header-ca"].certPem, { now })
  expect(proved).toMatchObject({ ok: true, subject: { commonName: "system:auth-proxy" } })
})
