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

test("an audit log has a line for each request: who, as whom, what, and how it went", async () => {
  // given a server with an audit log
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const auditLogPath = join(dir, "audit.log")
  const server = createApiServer({ clock: realClock, random: systemRandom, log: silent }, {
    listen: { host: "127.0.0.1", port: 0 }, serviceCidr: "10.43.0.0/16", nodePorts: { first: 30000, last: 32767 }, clusterDomain: "cluster.local", nodes: new NodeConnectors(), auditLogPath,
  })
  await server.start(new AbortController().signal)

  // when somebody asks for something, as somebody else
  const auditId = await new Promise<unknown>((resolve, reject) => {
    request({
      host: "127.0.0.1", port: server.port!, path: "/api/v1/namespaces/default/secrets/s", rejectUnauthorized: false, agent: false,
      headers: { authorization: `Bearer ${server.files!.adminToken}`, "impersonate-user": "jane", "user-agent": "tester" },
    }, (res) => res.resume().on("end", () => resolve(res.headers["audit-id"]))).on("error", reject).end()
  })
  await server.stop()

  // then the log says so
  const lines = readFileSync(auditLogPath, "utf8").trim().split("\n").map((line) => JSON.parse(line) as object)
  expect(lines).toMatchObject([{
    kind: "Event", apiVersion: "audit.k8s.io/v1", level: "Metadata", stage: "ResponseComplete", auditID: auditId, verb: "get", requestURI: "/api/v1/namespaces/default/secrets/s", userAgent: "tester",
    user: { username: "system:admin" }, impersonatedUser: { username: "jane", groups: ["system:authenticated"] }, sourceIPs: ["127.0.0.1"],
    objectRef: { resource: "secrets", namespace: "default", name: "s", apiVersion: "v1" }, responseStatus: { code: 403 },
  }])
  rmSync(dir, { recursive: true })
})
