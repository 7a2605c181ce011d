import { expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createApiServer } from "../apiserver.ts"

/** A server with an audit log; `end` stops it and gives what it has written. */
async function start() {
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const auditLogPath = join(dir, "audit.log")
  const server = createApiServer({ clock: realClock, random: systemRandom, log: silent }, {
    listen: { host: "127.0.0.1", port: 0 }, serviceCidr: "10.43.0.0/16", nodePorts: { first: 30000, last: 32767 }, clusterDomain: "cluster.local", nodes: new NodeConnectors(), auditLogPath,
  })
  await server.start(new AbortController().signal)
  return {
    /** Resolves to the answer's Audit-Id. */
    ask: (method: string, path: string, headers: Readonly<Record<string, string>>, body = "") => new Promise<unknown>((resolve, reject) => {
      request({
        host: "127.0.0.1", port: server.port!, method, path, rejectUnauthorized: false, agent: false,
        headers: { authorization: `Bearer ${server.files!.adminToken}`, "content-length": String(Buffer.byteLength(body)), ...headers },
      }, (res) => res.resume().on("end", () => resolve(res.headers["audit-id"]))).on("error", reject).end(body)
    }),
    async end() {
      await server.stop()
      const lines = readFileSync(auditLogPath, "utf8").trim().split("\n").map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      rmSync(dir, { recursive: true })
      return lines
    },
  }
}

test("an audit log has a line for each request: who, as whom, what, and how it went", async () => {
  // given
  const server = await start()
  // when somebody asks for something, as somebody else
  const auditId = await server.ask("GET", "/api/v1/namespaces/default/secrets/s", { "impersonate-user": "jane", "user-agent": "tester" })
  // then the log says so
  expect(await server.end()).toMatchObject([{
    kind: "Event", apiVersion: "audit.k8s.io/v1", level: "Metadata", stage: "ResponseComplete", auditID: auditId, verb: "get", requestURI: "/api/v1/namespaces/default/secrets/s", userAgent: "tester",
    user: { username: "system:admin" }, impersonatedUser: { username: "jane", groups: ["system:authenticated"] }, sourceIPs: ["127.0.0.1"],
    objectRef: { resource: "secrets", namespace: "default", name: "s", apiVersion: "v1" }, responseStatus: { code: 403 },
  }])
})

test("what admission noted about a request stands in its line", async () => {
  // given a namespace where privileged pods are noted
  const server = await start()
  const post = (path: string, object: object) => server.ask("POST", path, { "content-type": "application/json" }, JSON.stringify(object))
  await post("/api/v1/namespaces", { metadata: { name: "team", labels: { "pod-security.kubernetes.io/audit": "baseline" } } })
  const spec = { hostNetwork: true, containers: [{ name: "c", image: "i" }] }
  // when a workload of such is made
  await post("/apis/apps/v1/namespaces/team/deployments", { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec } } })
  // then
  expect((await server.end()).map(({ annotations }) => annotations)).toEqual([undefined, { "pod-security.kubernetes.io/audit-violations": 'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)' }])
})
