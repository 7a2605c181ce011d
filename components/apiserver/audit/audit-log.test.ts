import { expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "node:tls"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { createApiServer } from "../apiserver.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { BesideApi } from "../serving/beside.ts"
import { createAuditLog, type AuditSink } from "./audit-log.ts"

/** Starts a server with an audit log. `end` stops the server and returns the lines of the log. */
async function start(beside?: BesideApi) {
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const auditLogPath = join(dir, "audit.log")
  const server = createApiServer(
    { clock: realClock, random: systemRandom, log: silent },
    {
      listen: { host: "127.0.0.1", port: 0 },
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
      ...(beside === undefined ? {} : { beside }),
      auditLog: { path: auditLogPath, mostBytes: 0, mostFiles: 0, mostAgeMs: 0 },
    },
  )
  await server.start(new AbortController().signal)
  const lines = () =>
    readFileSync(auditLogPath, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
  return {
    /** Resolves to the answer's Audit-Id. */
    ask: (method: string, path: string, headers: Readonly<Record<string, string>>, body = "") =>
      new Promise<unknown>((resolve, reject) => {
        request(
          {
            host: "127.0.0.1",
            port: server.port!,
            method,
            path,
            rejectUnauthorized: false,
            agent: false,
            headers: {
              authorization: `Bearer ${server.files!.adminToken}`,
              "content-length": String(Buffer.byteLength(body)),
              ...headers,
            },
          },
          (res) => res.resume().on("end", () => resolve(res.headers["audit-id"])),
        )
          .on("error", reject)
          .end(body)
      }),
    /** Opens a watch; `answered` resolves when its response, or the other protocol, begins. */
    watch(path: string, headers: Readonly<Record<string, string>> = {}) {
      const req = request({
        host: "127.0.0.1",
        port: server.port!,
        path,
        rejectUnauthorized: false,
        agent: false,
        headers: { authorization: `Bearer ${server.files!.adminToken}`, ...headers },
      })
      const answered = new Promise<unknown>((resolve, reject) => {
        req.on("upgrade", (_res, socket) => resolve(req.once("close", () => socket.destroy())))
        req.on("response", (res) => resolve(res.resume()))
        req.on("error", reject)
      })
      req.end()
      return { answered, end: () => void req.destroy() }
    },
    lines,
    port: server.port!,
    token: server.files!.adminToken,
    async end() {
      await server.stop()
      const all = lines()
      rmSync(dir, { recursive: true })
      return all
    },
  }
}

test("the audit log has a line for each request with the user, the impersonated user, the request and the result", async () => {
  // given
  const server = await start()
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
  const server = await start()
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
  const server = await start()
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
  const server = await start()
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
  const server = await start({
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
  const audit = createAuditLog({ path, ...limits }, { clock: new VirtualClock(0), log: silent })
  // when
  audit.close()
  endOne(audit, "late")
  // then
  expect(readFileSync(path, "utf8")).toContain('"auditID":"late"')
  rmSync(dir, { recursive: true })
})

/** Tells an audit log that a request has ended. */
function endOne(audit: AuditSink, auditId: string): void {
  const exchange = { auditId, req: { url: "/", headers: {}, socket: {} }, header: () => undefined }
  const info = { verb: "get", isResource: false }
  audit.ended(exchange as unknown as Exchange, info as RequestInfo, audit.began(), { code: 200, seconds: 0 })
}

test("the audit log is rotated when it is large, and the oldest of many rotated files is removed", () => {
  // given a log of which two old files are kept, and no event fits beside another
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const clock = new VirtualClock(0)
  const limits = { mostBytes: 1, mostFiles: 2, mostAgeMs: 0 }
  const audit = createAuditLog({ path: join(dir, "audit.log"), ...limits }, { clock, log: silent })
  // when events come
  for (let i = 0; i < 5; i++) {
    endOne(audit, `id-${i}`)
    audit.close()
  }
  // then the newest is in the log, and the two before it are beside the log
  const ids = readdirSync(dir)
    .toSorted()
    .map((name) => /id-\d/.exec(readFileSync(join(dir, name), "utf8"))?.[0])
  expect(ids).toEqual(["id-2", "id-3", "id-4"])
  rmSync(dir, { recursive: true })
})

test("the audit log has the ids of issued tokens", async () => {
  const server = await start()
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
  const server = await start()
  await server.ask("GET", "/api/v1/pods", { authorization: "Bearer wrong" })
  await server.ask("GET", "/api/v1/pods", { "impersonate-uid": "nobody" })

  // then
  expect(await server.end()).toMatchObject([
    {
      stage: "ResponseStarted",
      user: {},
      responseStatus: { code: 401, message: "Authentication failed, attempted: bearer" },
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
  const server = await start()
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
  const server = await start()
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
