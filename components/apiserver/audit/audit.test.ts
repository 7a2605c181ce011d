import { expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "node:tls"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { silent } from "../../../pkg/log/log.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { AuditNotes } from "../call/audit-notes.ts"
import { startAudited } from "./audit.fixtures.ts"
import { auditMetrics } from "./audit-metrics.ts"
import { withoutPolicy } from "./audit-rules.ts"
import { auditSink, type AuditInfo, type AuditSink } from "./audit-sink.ts"
import { logBackend, type AuditLogOptions } from "./log-backend.ts"

test("the audit log has a line for each request with the user, the impersonated user, the request and the result", async () => {
  // given
  const server = await startAudited()
  // when somebody asks for something, as somebody else
  const auditId = await server.ask("GET", "/api/v1/namespaces/default/secrets/s", {
    "impersonate-user": "jane",
    "user-agent": "tester",
  })
  // then the log says so
  expect(await server.end()).toMatchObject([
    {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      stage: "ResponseComplete",
      auditID: auditId,
      verb: "get",
      requestURI: "/api/v1/namespaces/default/secrets/s",
      userAgent: "tester",
      user: { username: "system:admin" },
      impersonatedUser: { username: "jane", groups: ["system:authenticated"] },
      sourceIPs: ["127.0.0.1"],
      objectRef: { resource: "secrets", namespace: "default", name: "s", apiVersion: "v1" },
      responseStatus: {
        status: "Failure",
        code: 403,
        reason: "Forbidden",
        message:
          'secrets "s" is forbidden: User "jane" cannot get resource "secrets" in API group "" in the ' +
          'namespace "default"',
        details: { name: "s", kind: "secrets" },
      },
      annotations: { "authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "" },
    },
  ])
})

test("the audit log has the reason why a request was allowed, and the name of the object in its body", async () => {
  // given a user who holds a role
  const server = await startAudited()
  const post = (path: string, object: object, headers: Readonly<Record<string, string>> = {}) =>
    server.ask("POST", path, { "content-type": "application/json", ...headers }, JSON.stringify(object))
  await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "editors" },
    roleRef: { kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "User", name: "jane" }],
  })
  const jane = { "impersonate-user": "jane" }

  // when
  await post("/api/v1/namespaces/default/configmaps", { metadata: { name: "a" } }, jane)
  await server.ask("GET", "/version", jane)
  await server.ask("GET", "/api/v1/namespaces/default/pods/none/log", jane)
  await server.ask("GET", "/api/v1/namespaces/default/endpoints", jane)

  // then
  const allowed = {
    "authorization.k8s.io/decision": "allow",
    "authorization.k8s.io/reason": 'RBAC: allowed by ClusterRoleBinding "editors" of ClusterRole "edit" to User "jane"',
  }
  const lines = await server.end()
  const [binding, made, version, log, endpoints] = lines.filter(({ stage }) => stage === "ResponseComplete")
  expect(binding).toMatchObject({
    objectRef: { name: "editors", apiGroup: "rbac.authorization.k8s.io" },
    annotations: { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "" },
  })
  expect(made).toMatchObject({
    objectRef: { resource: "configmaps", namespace: "default", name: "a" },
    responseStatus: { code: 201 },
    annotations: allowed,
  })
  expect(version!["annotations"]).toEqual({
    ...allowed,
    "authorization.k8s.io/reason": expect.stringMatching(
      /^RBAC: allowed by ClusterRoleBinding "system:[-a-z]+" of ClusterRole "system:[-a-z]+" to Group "system:authenticated"$/,
    ),
  })
  expect(log!["annotations"]).toEqual(allowed)
  expect(endpoints!["annotations"]).toEqual({ ...allowed, "k8s.io/deprecated": "true" })
})

const WEBSOCKET = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
}
test.each([
  { title: "over HTTP", headers: {}, code: 200 },
  { title: "over a WebSocket", headers: WEBSOCKET, code: 101 },
])("the audit log has a line of a watch $title when it begins, and another when it ends", async ({ headers, code }) => {
  // given
  const server = await startAudited()
  const open = server.watch("/api/v1/namespaces/default/configmaps?watch=1", headers)
  await open.answered
  // when the watch is open
  const during = server.lines()
  open.end()
  await server.ask("GET", "/version", {})
  const after = await server.end()
  // then
  const line = { verb: "watch", user: { username: "system:admin" }, responseStatus: { code } }
  expect(during).toMatchObject([{ ...line, stage: "ResponseStarted" }])
  expect(after).toMatchObject([
    { ...line, stage: "ResponseStarted" },
    { ...line, stage: "ResponseComplete", auditID: after[0]!["auditID"] },
    { requestURI: "/version" },
  ])
})

test("the audit log has two lines of a stream whose whole answer is sent at once", async () => {
  // given a client that says nothing of its connection, as those in Go
  const server = await startAudited()
  const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false })
  const answered = new Promise((resolve) => socket.once("data", resolve))
  // when
  const path = "/api/v1/namespaces/default/pods/none/log"
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\n\r\n`)
  expect(String(await answered)).toStartWith("HTTP/1.1 404")
  socket.destroy()
  // then
  const line = { requestURI: path, responseStatus: { code: 404 } }
  expect(await server.end()).toMatchObject([
    { ...line, stage: "ResponseStarted" },
    { ...line, stage: "ResponseComplete" },
  ])
})

test("the audit log has requests to what the port serves beside the API", async () => {
  // given a part that serves one path, and refuses another
  const server = await startAudited({
    beside: {
      serves: (path, isUpgrade) => !isUpgrade && ["/beside", "/refused"].includes(path),
      onRequest(req, res, notes) {
        if (req.url === "/beside") {
          notes?.sender({ name: "system:node:n", groups: ["system:nodes"] })
          notes?.annotate("k3ts.io/certificate", "kubelet")
          res.writeHead(200)
        } else {
          notes?.refused(new ApiError("TooManyRequests", "too many wrong tokens from this address"))
          res.writeHead(429)
        }
        res.end()
      },
      onUpgrade: () => undefined,
      stop: () => undefined,
    },
  })
  // when
  await server.ask("POST", "/beside", {})
  await server.ask("POST", "/refused", {})
  await server.ask("GET", "/version", {})
  // then
  expect(await server.end()).toMatchObject([
    {
      requestURI: "/beside",
      verb: "post",
      user: { username: "system:node:n" },
      responseStatus: { code: 200 },
      annotations: { "k3ts.io/certificate": "kubelet" },
    },
    { requestURI: "/refused", responseStatus: { code: 429, message: "too many wrong tokens from this address" } },
    { requestURI: "/version", user: { username: "system:admin" } },
  ])
})

test("the audit log has the end of a connection that ends after the server has stopped", () => {
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const path = join(dir, "audit.log")
  const limits = { mostBytes: 0, mostFiles: 0, mostAgeMs: 0 }
  const audit = logging({ path, ...limits }, new VirtualClock(0))
  // when
  void audit.close()
  endOne(audit, "late")
  // then
  expect(readFileSync(path, "utf8")).toContain('"auditID":"late"')
  rmSync(dir, { recursive: true })
})

function logging(options: AuditLogOptions, clock: VirtualClock): AuditSink {
  const metrics = auditMetrics(new Registry())
  return auditSink({
    rules: withoutPolicy,
    backends: [logBackend(options, { clock, log: silent, metrics })],
    metrics,
    clock,
  })
}

/** Tells an audit log that a request has ended. */
function endOne(audit: AuditSink, auditId: string, seconds = 0): void {
  const request = { auditId, uri: "/", userAgent: () => undefined, sourceIPs: () => [], attempted: () => "" }
  const none = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" }
  const info: AuditInfo = { verb: "get", isResource: false, path: "/", ...none }
  audit.ended(request, info, new AuditNotes("2026-01-01T00:00:00.000000Z"), { code: 200, seconds })
}

test("the event of a slow request says how long it took", () => {
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const path = join(dir, "audit.log")
  const audit = logging({ path, mostBytes: 0, mostFiles: 0, mostAgeMs: 0 }, new VirtualClock(0))
  // when
  endOne(audit, "quick", 0.1)
  endOne(audit, "slow", 1.5)
  void audit.close()
  // then
  const [quick, slow] = readFileSync(path, "utf8").trim().split("\n")
  expect(quick).not.toContain("apiserver.latency.k8s.io")
  expect(slow).toContain('"apiserver.latency.k8s.io/total":"1.5s"')
  rmSync(dir, { recursive: true })
})

test("the audit log is rotated when it is large, and the oldest of many rotated files is removed", () => {
  // given a log of which two old files are kept, and no event fits beside another
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const clock = new VirtualClock(0)
  const limits = { mostBytes: 1, mostFiles: 2, mostAgeMs: 0 }
  const audit = logging({ path: join(dir, "audit.log"), ...limits }, clock)
  // when events come
  for (let i = 0; i < 5; i++) {
    endOne(audit, `id-${i}`)
    void audit.close()
  }
  // then the newest is in the log, and the two before it are beside the log
  const ids = readdirSync(dir)
    .toSorted()
    .map((name) => /id-\d/.exec(readFileSync(join(dir, name), "utf8"))?.[0])
  expect(ids).toEqual(["id-2", "id-3", "id-4"])
  rmSync(dir, { recursive: true })
})

test("the audit log has the ids of issued tokens", async () => {
  const server = await startAudited()
  const post = (path: string, object: object) =>
    server.ask("POST", path, { "content-type": "application/json" }, JSON.stringify(object))
  await post("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "robot" } })
  await post("/api/v1/namespaces/default/serviceaccounts/robot/token", { spec: {} })
  const [, issued] = await server.end()
  expect(issued!["annotations"]).toMatchObject({
    "authentication.kubernetes.io/issued-credential-id": expect.stringMatching(/^JTI=[0-9a-f-]{36}$/),
  })
})

test("the audit log has requests that failed authentication or impersonation", async () => {
  // given
  const server = await startAudited()
  await server.ask("GET", "/api/v1/pods", { authorization: "Bearer wrong" })
  await server.ask("GET", "/api/v1/pods", { "impersonate-uid": "nobody" })

  // then
  expect(await server.end()).toMatchObject([
    {
      stage: "ResponseStarted",
      user: {},
      responseStatus: { status: "Failure", message: "Unauthorized", reason: "Unauthorized", code: 401 },
    },
    {
      stage: "ResponseComplete",
      user: { username: "system:admin" },
      responseStatus: { status: "Failure", code: expect.any(Number) },
    },
  ])
})

test("the audit log has the reason of a request that was refused before authentication", async () => {
  // given
  const server = await startAudited()
  // when
  await server.ask("GET", "/api/v1/pods?timeout=soon", {})
  // then
  expect(await server.end()).toMatchObject([
    {
      stage: "ResponseStarted",
      user: {},
      responseStatus: {
        message: 'invalid timeout specified in the request URL - time: invalid duration "soon"',
        code: 400,
      },
    },
  ])
})

test("annotations of admission plugins are in the line of the request", async () => {
  // given a namespace where privileged pods are noted
  const server = await startAudited()
  const post = (path: string, object: object) =>
    server.ask("POST", path, { "content-type": "application/json" }, JSON.stringify(object))
  await post("/api/v1/namespaces", {
    metadata: { name: "team", labels: { "pod-security.kubernetes.io/audit": "baseline" } },
  })
  const spec = { hostNetwork: true, containers: [{ name: "c", image: "i" }] }
  // when a workload of such is made
  await post("/apis/apps/v1/namespaces/team/deployments", {
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec } },
  })
  // then
  expect((await server.end()).map(({ annotations }) => annotations)).toMatchObject([
    {},
    {
      "authorization.k8s.io/decision": "allow",
      "pod-security.kubernetes.io/audit-violations":
        'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    },
  ])
})
