import { createServer, type Server } from "node:http"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { beginListening } from "../../../pkg/runtime/http/begin-listening.ts"
import { boolean, list, value } from "../cli/flags.ts"
import { defineCommand } from "../cli/command.ts"
import type { ForeignFlags } from "../cli/foreign-flags.ts"
import { textThat } from "../cli/flag-type.ts"
import { filePath } from "../cli/values.ts"
import { untilStopped } from "./until-stopped.ts"

/** Where `kube-apiserver` of the same folder asks for the folder in which it keeps its objects. */
export const STORE_PATH = "/k3ts/store"

const httpUrl = textThat(
  (text) => URL.canParse(text) && new URL(text).protocol === "http:" && new URL(text).port !== "",
  "must be a URL of http with a port, as in http://127.0.0.1:2379",
)

const ofOneMember = { kind: "value", becomes: () => [] } as const
/** Flags of etcd about other members, of which there are none, and about what is not stored here. */
const unheededFlags: ForeignFlags = Object.fromEntries(
  [
    ...["listen-peer-urls", "initial-advertise-peer-urls", "initial-cluster", "initial-cluster-state"],
    ...["name", "log-level", "logger", "quota-backend-bytes", "auto-compaction-mode", "auto-compaction-retention"],
    ...["max-request-bytes", "max-txn-ops", "snapshot-count", "listen-metrics-urls"],
  ].map((name) => [name, ofOneMember]),
)

/**
 * Stands in for etcd in a suite on envtest: it is healthy, names the folder of the store, and lives as long as the
 * suite wants. The objects are written by `kube-apiserver`, so one that is started again finds them.
 */
export const etcd = defineCommand({
  summary: "What suites on envtest start as etcd: it keeps the folder of the objects",
  flags: {
    "data-dir": value(filePath, "Folder of the data", { placeholder: "DIR", path: true }),
    "listen-client-urls": list(httpUrl, "URLs to listen on", { placeholder: "URL" }, ["http://localhost:2379"]),
    "advertise-client-urls": list(httpUrl, "URLs for clients", { placeholder: "URL" }),
    "unsafe-no-fsync": boolean("Do not wait for the disk"),
  },
  foreign: unheededFlags,
  async run({ flags }) {
    const stopped = untilStopped()
    const folder = join(flags["data-dir"], "k3ts")
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const store = JSON.stringify({ folder, unsafeNoFsync: flags["unsafe-no-fsync"] })
    const servers = flags["listen-client-urls"].map(() => answering(store))
    try {
      await Promise.all(
        flags["listen-client-urls"].map((url, i) => {
          const { hostname, port } = new URL(url)
          return beginListening(servers[i]!, { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) })
        }),
      )
      await stopped
    } finally {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    }
  },
})

const answering = (store: string): Server =>
  createServer((req, res) => {
    const answers: Readonly<Record<string, string>> = {
      "/health": '{"health":"true","reason":""}',
      "/version": '{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}',
      [STORE_PATH]: store,
    }
    const [path = ""] = (req.url ?? "").split("?")
    const body = Object.hasOwn(answers, path) ? answers[path] : undefined
    res.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" }).end(body ?? "{}")
  })
