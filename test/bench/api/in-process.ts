/**
 * What the control plane does by itself, without TLS and HTTP: durable creates through pipeline, admission and registry
 * beside raw SQLite in the same run, reads, lists, fan-out to watchers, and memory. Run: `bun
 * test/bench/api/in-process.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startApiCore } from "../../../components/apiserver/api-core.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { builtinScheme } from "../../../pkg/api/scheme.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { openSqlite } from "../../../pkg/runtime/sqlite.ts"
import { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"

const CONNECTIONS = 16
const directory = mkdtempSync(join(tmpdir(), "k3ts-bench-"))
const figures: Record<string, string> = {}
const megabytes = () => Math.round(process.memoryUsage().rss / 2 ** 20)

/** `count` calls, `CONNECTIONS` at a time, each begun when the one before on its connection has ended. */
async function rate(name: string, count: number, call: (i: number) => Promise<unknown>): Promise<void> {
  const begin = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (next < count) await call(next++)
    }),
  )
  figures[name] = `${Math.round((count / (performance.now() - begin)) * 1000)}/s`
}

const begin = performance.now()
const storage = new SqliteStorage({ clock: realClock, file: join(directory, "state.db") })
const plane = await startApiCore({
  storage,
  clock: realClock,
  random: systemRandom,
  log: silent,
  scheme: builtinScheme(),
  frontProxy: () => ({ certPem: "", keyPem: "" }),
  serviceCidrs: ["10.43.0.0/16"],
  nodePorts: { first: 30000, last: 32767 },
  advertiseAddress: "192.0.2.1",
  port: 6443,
  tokenIssuer: { issue: () => ({ token: "", expiresAt: 0, id: "" }) },
  apiAudiences: ["api"],
  reviewToken: () => undefined,
})
figures["empty disk to ready"] = `${(performance.now() - begin).toFixed(1)} ms`
const client = newClient(plane.transportFor({ name: "admin", groups: ["system:masters", "system:authenticated"] }))
await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })

const data = { text: "x".repeat(500) }
await rate("warm-up", 2000, (i) =>
  client.create(ConfigMap, { metadata: { name: `w${i}`, namespace: "default" }, data }),
)
await rate("ConfigMap create, durable", 20_000, (i) =>
  client.create(ConfigMap, { metadata: { name: `c${i}`, namespace: "default" }, data }),
)
await rate("ConfigMap get", 200_000, (i) => client.get(ConfigMap, { name: `c${i % 20_000}`, namespace: "default" }))

const raw = openSqlite(join(directory, "raw.db"))
raw.exec("PRAGMA journal_mode = WAL")
raw.exec("PRAGMA synchronous = FULL")
raw.exec(
  "CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB NOT NULL); CREATE INDEX log_key " +
    "ON log (key, rev)",
)
const insert = raw.prepare("INSERT INTO log (key, value) VALUES (?, ?)")
const bytes = new TextEncoder().encode("x".repeat(900))
const rawBegin = performance.now()
for (let batch = 0; batch < 1250; batch++) {
  raw.exec("BEGIN")
  for (let i = 0; i < CONNECTIONS; i++)
    insert.run(`/registry/core/configmaps/default/c${batch * CONNECTIONS + i}`, bytes)
  raw.exec("COMMIT")
}
figures[`raw SQLite, ${CONNECTIONS} rows a transaction`] =
  `${Math.round((20_000 / (performance.now() - rawBegin)) * 1000)}/s`
raw.close()

for (const { metadata } of (await client.list(ConfigMap)).items)
  await storage
    .write({
      key: `/registry/core/configmaps/default/${metadata.name}`,
      object: null,
      expected: undefined,
      time: 0,
      author: "",
    })
    .catch(() => undefined)
Bun.gc(true)
const before = megabytes()
const pod = (i: number) => ({
  metadata: {
    name: `web-${i}`,
    namespace: "default",
    labels: { app: "web", "pod-template-hash": "abc" },
    ownerReferences: [
      {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name: "web",
        uid: "0f6e3bd4-6d3f-4a09-8d4c-8a1f6f3f0001",
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  spec: {
    containers: [
      {
        name: "web",
        image: "registry.example/web:1.2.3",
        ports: [{ containerPort: 8080 }],
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
        ],
        resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
      },
    ],
  },
})
await rate("Pod create, durable", 20_000, (i) => client.create(Pod, pod(i)))
Bun.gc(true)
figures["memory of 20,000 pods"] =
  `${megabytes()} MB resident, ${megabytes() - before} MB more than before, heap ` +
  `${Math.round(process.memoryUsage().heapUsed / 2 ** 20)} MB`

const listBegin = performance.now()
for (let i = 0; i < 20; i++) await client.list(Pod)
figures["full LIST of 20,000 pods, values"] = `${Math.round(20_000 / (performance.now() - listBegin))}/s`

let delivered = 0
const watchers = Array.from({ length: 2000 }, () =>
  plane.pipeline.watch(
    {
      user: { name: "admin", groups: ["system:masters"] },
      verb: "watch",
      resource: ConfigMap,
      options: { resourceVersion: String(storage.revision) },
      warn: () => undefined,
    },
    {
      send: ({ frames }) => {
        delivered += frames[0]!.line.length > 0 ? 1 : 0
        return true
      },
      end: () => undefined,
    },
  ),
)
const fanBegin = performance.now()
await client.create(ConfigMap, { metadata: { name: "event", namespace: "default" }, data })
figures["one event to 2,000 watchers, commit included"] =
  `${(performance.now() - fanBegin).toFixed(2)} ms (${delivered} delivered)`
watchers.forEach((watch) => watch.close())

await plane.close()
storage.close()
const reopen = performance.now()
const again = new SqliteStorage({ clock: realClock, file: join(directory, "state.db") })
figures["reopen with 20,000 pods"] = `${(performance.now() - reopen).toFixed(0)} ms`
again.close()
rmSync(directory, { recursive: true })
console.table(figures)
