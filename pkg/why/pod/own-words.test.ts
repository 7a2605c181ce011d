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
  // Who has signed a volume's files is another matter than that it is not empty.
  { line: "find: '/data/lost+found': Permission denied", code: undefined },
  {
    line: "initdb: detail: It contains a lost+found directory, perhaps due to it being a mount point.",
    code: "volume-not-empty",
  },
  {
    line: "x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is before 2027-01-01T00:00:00Z",
    code: "certificate-not-yet-valid",
  },
  {
    line: "x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is after 2025-01-01T00:00:00Z",
    code: "certificate-expired",
  },
  {
    line: "RequestTimeTooSkewed: The difference between the request time and the current time is too large.",
    code: "clock-skew",
  },
  { line: "jwt: token used before issued", code: "clock-skew" },
  { line: "error: the server has asked for the client to provide credentials", code: "token-refused" },
  { line: "fork: retry: Resource temporarily unavailable", code: "process-ids-used-up" },
  { line: "RuntimeError: can't start new thread", code: "process-ids-used-up" },
  { line: "java.lang.OutOfMemoryError: unable to create native thread", code: "process-ids-used-up" },
  { line: "java.lang.OutOfMemoryError: Java heap space", code: "heap-used-up" },
  { line: "listen tcp 10.0.0.9:8080: bind: cannot assign requested address", code: "address-not-own" },
  { line: "RTNETLINK answers: Operation not permitted", code: "capability-missing" },
  {
    line: "iptables v1.8.7: can't initialize iptables table `nat': Permission denied (you must be root)",
    code: "capability-missing",
  },
  { line: "mount: /mnt: operation not permitted", code: "capability-missing" },
  { line: "chown: changing ownership of '/mnt/mount': Operation not permitted", code: "permission-denied" },
  { line: "flag provided but not defined: -prot", code: "arguments-refused" },
  { line: "app: error: unrecognized arguments: --verbos", code: "arguments-refused" },
  { line: "FATAL: sorry, too many clients already", code: "server-connections-used-up" },
  { line: "E0101 leaderelection.go:340] leader election lost", code: "leader-lost" },
  { line: "remote error: tls: certificate required", code: "client-certificate-refused" },
  { line: "unable to load in-cluster configuration", code: "token-not-mounted" },
])("of $line the cause is $code", ({ line, code }) => {
  expect(ownFinding(pod, "c", line)?.cause.code).toBe(code)
})

test("takes a missing configuration for a missing token only in a pod that has none", () => {
  // given a pod with a token
  const volumeMounts = [{ name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }]
  const withToken = { ...pod, spec: { containers: [{ name: "c", volumeMounts }] } } as unknown as Pod

  // when its program says that it finds no configuration, then that has another cause
  expect(ownFinding(withToken, "c", "unable to load in-cluster configuration")).toBeUndefined()
})
