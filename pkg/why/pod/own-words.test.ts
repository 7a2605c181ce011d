import { expect, test } from "bun:test"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { ownFinding } from "./own-words.ts"

const pod = { metadata: { name: "web", namespace: "default" }, spec: { containers: [{ name: "c" }] } } as unknown as Pod

test.each([
  { line: "chown: /data: Operation not permitted", code: "permission-denied" },
  { line: "fopen(/var/run/web.pid): permission denied", code: "permission-denied" },
  // A connection that is forbidden is no file.
  { line: "dial tcp 10.0.0.1:80: connect: operation not permitted", code: undefined },
  {
    line: "java.security.cert.CertificateExpiredException: NotAfter: Fri Jan 02 00:00:00 UTC 2026",
    code: "certificate-expired",
  },
  // A certificate that is printed has not expired.
  { line: "Serving with a certificate, NotAfter: 2030-01-01", code: undefined },
])("of $line the cause is $code", ({ line, code }) => {
  expect(ownFinding(pod, "c", line)?.cause.code).toBe(code)
})
