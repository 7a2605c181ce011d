import { admissionOf, tolerationSecondsOf } from "../config/admission-flags.ts"
import { get } from "node:http"
import { z } from "zod"
import { createApiServer } from "../../../components/apiserver/apiserver.ts"
import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { servedOptionalKinds } from "../../../pkg/component/optional-kinds.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { defineCommand } from "../cli/command.ts"
import { createContext } from "../context.ts"
import { containUncaught } from "../process/uncaught.ts"
import { apiServerFlags, checkTogether, unheededFlags, type ApiServerFlags } from "./api-server-flags.ts"
import { STORE_PATH } from "./etcd.ts"
import { servingFilesOf } from "./serving-files.ts"
import { untilStopped } from "./until-stopped.ts"

const DEBUG_VERBOSITY = 4
/** How long `etcd` may take to say where the store is, in milliseconds. */
const STORE_MS = 5000
/** When the audit log of a suite is rotated, and how much of it is kept. */
const AUDIT_LIMITS = { mostBytes: 100 * 2 ** 20, mostFiles: 10, mostAgeMs: 30 * 86_400_000 }

/** The API server alone, as suites on envtest start it: with upstream's flags, and no controllers. */
export const kubeApiServer = defineCommand({
  summary: "What suites on envtest start as kube-apiserver: an API server without controllers, scheduler and nodes",
  details:
    "It has those flags of upstream's kube-apiserver that suites use; others are refused. What it cannot turn off " +
    "(profiling, the watch cache) is taken without effect.",
  flags: apiServerFlags,
  foreign: unheededFlags,
  async run({ flags }) {
    checkTogether(flags)
    const stop = new AbortController()
    const stopped = untilStopped(() => stop.abort())
    const log = createLogger({
      clock: realClock,
      format: "text",
      level: flags.v >= DEBUG_VERBOSITY ? "debug" : "info",
      write: (line) => void process.stderr.write(`${line}\n`),
    })
    const context = createContext(log)
    containUncaught(context.note)
    const server = createApiServer(context, { ...configOf(flags), ...(await storeOf(flags)) })
    try {
      await server.start(stop.signal)
      log.info("The API server is ready", { port: server.port })
      compileAsUsual()
      await Promise.race([stopped, context.failed])
    } catch (err) {
      if (!stop.signal.aborted) throw err
    } finally {
      await server.stop()
    }
  },
})

const configOf = (flags: ApiServerFlags): ApiServerConfig => ({
  listen: { host: flags["bind-address"], port: flags["secure-port"] },
  ...(flags["advertise-address"] === undefined ? {} : { advertiseAddress: flags["advertise-address"] }),
  serviceCidrs: flags["service-cluster-ip-range"],
  nodePorts: flags["service-node-port-range"],
  anonymous: flags["anonymous-auth"],
  clusterDomain: "cluster.local",
  nodes: new NodeConnectors(),
  files: servingFilesOf(flags),
  ...(flags["service-account-issuer"].length === 0 ? {} : { issuers: flags["service-account-issuer"] }),
  eventSeconds: flags["event-ttl"],
  requestTimeoutMs: flags["request-timeout"] * 1000,
  maxInFlight: { reads: flags["max-requests-inflight"], writes: flags["max-mutating-requests-inflight"] },
  priorityAndFairness: flags["enable-priority-and-fairness"],
  admission: admissionOf(flags),
  tolerationSeconds: tolerationSecondsOf(flags),
  features: flags["feature-gates"],
  optionalKinds: servedOptionalKinds(flags["runtime-config"], flags["feature-gates"]),
  ...(flags["audit-log-path"] === undefined
    ? {}
    : { audit: { log: { path: flags["audit-log-path"], ...AUDIT_LIMITS } } }),
})

const Store = z.object({ folder: z.string(), unsafeNoFsync: z.boolean() })

/** Returns where the objects are kept: in the folder that `etcd` of this folder names, or in a real etcd. */
async function storeOf(
  flags: ApiServerFlags,
): Promise<Pick<ApiServerConfig, "dataDir" | "unsafeNoFsync" | "datastore">> {
  const { "etcd-servers": endpoints } = flags
  const named = Store.safeParse(await jsonAt(new URL(STORE_PATH, endpoints[0])))
  if (named.success) return { dataDir: named.data.folder, unsafeNoFsync: named.data.unsafeNoFsync }
  const files = { caFile: flags["etcd-cafile"], certFile: flags["etcd-certfile"], keyFile: flags["etcd-keyfile"] }
  return { datastore: { endpoints, ...files } }
}

/** Returns what is at a URL; undefined when nothing answers there in JSON, as a real etcd, which has no such path. */
function jsonAt(url: URL): Promise<unknown> {
  if (url.protocol !== "http:") return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const none = () => resolve(undefined)
    const asked = get(url, { agent: false, timeout: STORE_MS }, (answer) => {
      let text = ""
      answer
        .setEncoding("utf8")
        .on("data", (part: string) => (text += part))
        .on("error", none)
      answer.once("end", () => {
        try {
          resolve(JSON.parse(text))
        } catch {
          none()
        }
      })
    })
    asked.on("timeout", () => asked.destroy()).on("error", none)
  })
}
