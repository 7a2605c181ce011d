import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createApiServer } from "../apiserver.ts"
import type { Pipeline } from "../call/request.ts"
import type { BesideApi } from "../serving/beside.ts"
import type { AuditConfig } from "./create-audit.ts"

/** A line of the audit log. */
export type AuditLine = Readonly<Record<string, unknown>>

interface Auditing {
  readonly beside?: BesideApi | undefined
  /** The text of the policy. */
  readonly policy?: string
  readonly webhook?: AuditConfig["webhook"]
  readonly intercept?: (pipeline: Pipeline) => Pipeline
}

/** Starts a server with an audit log. `end` stops the server and returns the lines of the log. */
export async function startAudited({ beside, policy, webhook, intercept }: Auditing = {}) {
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const auditLogPath = join(dir, "audit.log")
  const policyFile = policy === undefined ? undefined : join(dir, "policy.yaml")
  if (policyFile !== undefined) writeFileSync(policyFile, policy!)
  const server = createApiServer(
    { clock: realClock, random: systemRandom, log: silent },
    {
      listen: { host: "127.0.0.1", port: 0 },
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
      ...(beside === undefined ? {} : { beside }),
      ...(intercept === undefined ? {} : { intercept }),
      audit: { policyFile, webhook, log: { path: auditLogPath, mostBytes: 0, mostFiles: 0, mostAgeMs: 0 } },
    },
  )
  await server.start(new AbortController().signal)
  const lines = () =>
    readFileSync(auditLogPath, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditLine)
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
    server,
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
