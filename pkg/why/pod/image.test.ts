import { expect, test } from "bun:test"
import { pullFailure } from "./image.ts"

test.each([
  ["proxyconnect tcp: dial tcp 10.0.0.9:3128: connect: connection refused", "registry-proxy"],
  ["dial tcp 10.0.0.9:5000: connect: connection refused", "registry-unreachable"],
  ["net/http: TLS handshake timeout", "registry-unreachable"],
  ["tls: first record does not look like a TLS handshake", "registry-speaks-http"],
  ["http: server gave HTTP response to HTTPS client", "registry-speaks-http"],
  ["remote error: tls: certificate required", "registry-wants-certificate"],
  ["tls: failed to verify certificate: x509: certificate signed by unknown authority", "registry-certificate"],
  ["failed to copy: httpReadSeeker: failed open: unexpected EOF", "registry-breaks-off"],
  ['media type "application/vnd.docker.distribution.manifest.v1+prettyjws" is no longer supported', "image-format"],
  ['failed to Lchown "/x" for UID 0, GID 42: lchown /x: invalid argument', "image-ids"],
  ["image signature verification failed: no matching signatures", "image-signature"],
  ["403 Forbidden: SignatureDoesNotMatch", "image-credentials"],
  ["pull QPS exceeded", "image-pulls-limited"],
])("a pull that fails with %s has the cause %s", (words, code) => {
  expect(pullFailure("r.corp:5000/app:1", words)?.code).toBe(code)
})

test.each([
  ["current time 2026-01-01T00:00:00Z is after 2025-01-01T00:00:00Z", /not valid at this time/],
  ["certificate is valid for registry.corp, not r.corp", /is for another name/],
  ["certificate signed by unknown authority", /does not trust/],
])("a certificate with %s is not called by another fault", (words, says) => {
  const expired = words.startsWith("current") ? "certificate has expired or is not yet valid: " : ""
  expect(pullFailure("r.corp/app:1", `x509: ${expired}${words}`)?.says).toMatch(says)
})
