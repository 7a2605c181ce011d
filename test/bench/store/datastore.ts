import { spawnSync } from "node:child_process"
import { createApiServer, type ApiServer } from "../../../components/apiserver/apiserver.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { hasEtcd, startEtcd, type TestEtcd } from "../../harness/etcd.ts"
import { hasPostgres, startPostgres } from "../../harness/postgres.ts"
import { median, type Benchmark, type Figure } from "../figure.ts"

const ADMIN = { name: "admin", groups: ["system:masters"] }
/** The number of concurrent writes: as many as the server serves at once. */
const WRITERS = 200
const OBJECTS = 40_000
const RENEWALS = 40_000
const BYTES = 500

/** What servers do that share an etcd, beside what that etcd can do. */
export const datastore: Benchmark = {
  name: "datastore",
  needs: () => (hasEtcd ? undefined : "needs etcd and etcdctl: hack/setup.sh --test"),
  async *run() {
    await using etcd = await startEtcd("--quota-backend-bytes", String(8 * 2 ** 30))
    const limit = rawLimit(etcd)
    const one = await startServer(etcd.endpoint)
    const client = newClient(one.transportFor(ADMIN))
    yield {
      name: "ConfigMap creates on etcd",
      unit: "/s",
      value: await createsPerSecond(client),
      limit: { what: "etcdctl check perf: puts of 1 KiB by 1,000 clients", value: limit },
      goal: 0.6 * limit,
      better: "more",
    }

    const began = performance.now()
    const two = await startServer(etcd.endpoint)
    yield less(`start of a server with ${OBJECTS} objects in etcd`, "ms", performance.now() - began)
    yield* betweenServers(client, newClient(two.transportFor(ADMIN)))
    yield* lists(client)
    yield* growth(etcd, client)
    await one.stop()
    await two.stop()
  },
}

const less = (name: string, unit: Figure["unit"], value: number): Figure => ({ name, unit, value, better: "less" })

/** What servers do that share a PostgreSQL, beside what that PostgreSQL can do. */
export const postgres: Benchmark = {
  name: "postgres",
  needs: () => (hasPostgres ? undefined : "needs PostgreSQL: hack/setup.sh --test"),
  async *run() {
    await using store = await startPostgres()
    store.sql("CREATE TABLE raw (id bigserial PRIMARY KEY, value bytea NOT NULL)")
    const insert = `INSERT INTO raw (value) VALUES (convert_to(repeat('x', ${BYTES}), 'UTF8'));`
    const limit = store.perSecond(insert, { clients: 90, seconds: 15 })
    const server = await startServer(store.endpoint)
    yield {
      name: "ConfigMap creates on PostgreSQL",
      unit: "/s",
      value: await createsPerSecond(newClient(server.transportFor(ADMIN))),
      limit: { what: "pgbench: inserts of 500 bytes by 90 clients, each its own transaction", value: limit },
      goal: 0.6 * limit,
      better: "more",
    }
    await server.stop()
  },
}

/** Creates ConfigMaps by many writers, after some whose time does not count. */
async function createsPerSecond(client: Client): Promise<number> {
  const create = (i: number) =>
    client.create(ConfigMap, { metadata: { name: `c${i}`, namespace: "default" }, data: { text: "x".repeat(BYTES) } })
  await perSecond(2000, (i) => create(-1 - i))
  return perSecond(OBJECTS, create)
}

async function startServer(endpoint: string): Promise<ApiServer> {
  const server = createApiServer(
    { clock: realClock, random: systemRandom, log: silent },
    {
      datastore: { endpoints: [endpoint] },
      advertiseAddress: "127.0.0.1",
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
    },
  )
  await server.start(new AbortController().signal)
  return server
}

/** Writes a second of etcd's own measuring program: 1 KiB each, a thousand clients, one minute. */
function rawLimit({ endpoint }: TestEtcd): number {
  const args = ["--endpoints", endpoint, "check", "perf", "--load", "xl", "--auto-compact"]
  const { stdout, stderr } = spawnSync("etcdctl", args, { env: { ...process.env, ETCDCTL_API: "3" } })
  const found = /(\d+) writes\/s/.exec(String(stdout) + String(stderr))
  if (found === null) throw new Error(`etcdctl check perf printed no rate: ${String(stderr)}`)
  return Number(found[1])
}

/** Calls a second, `WRITERS` at a time. */
async function perSecond(count: number, call: (i: number) => Promise<unknown>): Promise<number> {
  const began = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < count) await call(next++)
    }),
  )
  return (count * 1000) / (performance.now() - began)
}

async function milliseconds(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await run()
  return performance.now() - began
}

/** A write through one server and the read of it through the other one, one after the other. */
async function* betweenServers(one: Client, two: Client): AsyncGenerator<Figure> {
  const [writes, reads]: [number[], number[]] = [[], []]
  for (let i = 0; i < 200; i++) {
    const name = `between${i}`
    writes.push(await milliseconds(() => one.create(ConfigMap, { metadata: { name, namespace: "default" } })))
    reads.push(await milliseconds(() => two.get(ConfigMap, { name, namespace: "default" })))
  }
  yield less("a single create on etcd", "ms", median(writes))
  yield less("the read of it through another server", "ms", median(reads))
}

/** Users of kine: lists that take seconds (k3s 8042, kine 213). */
async function* lists(client: Client): AsyncGenerator<Figure> {
  const whole = await milliseconds(() => client.list(ConfigMap, { namespace: "default" }))
  yield less(`list of ${OBJECTS} objects on etcd, without its encoding`, "ms", whole)
  const times: number[] = []
  let writing = true
  const writers = perSecond(4000, (i) =>
    client.patch(ConfigMap, { name: `c${i}`, namespace: "default" }, { type: "merge", body: { data: { more: "x" } } }),
  ).finally(() => (writing = false))
  while (writing) times.push(await milliseconds(() => client.list(ConfigMap, { namespace: "default", limit: 500 })))
  await writers
  yield less("list of 500 while etcd takes writes, longest", "ms", Math.max(...times))
}

/** Users of kine: databases that grow with Leases (k3s 10619, 1575). */
async function* growth(etcd: TestEtcd, client: Client): AsyncGenerator<Figure> {
  const namespace = "kube-node-lease"
  const spec = { holderIdentity: "n", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" }
  for (let i = 0; i < 100; i++) await client.create(Lease, { metadata: { name: `n${i}`, namespace }, spec })
  const before = bytesInUse(etcd)
  await perSecond(RENEWALS, (i) =>
    client.patch(Lease, { name: `n${i % 100}`, namespace }, { type: "merge", body: { spec: { leaseTransitions: i } } }),
  )
  const grown = bytesInUse(etcd)
  const revision = Number(/"Revision" : (\d+)/.exec(etcd.ctl("get", "none", "--write-out=fields"))![1])
  etcd.ctl("compact", String(revision), "--physical")
  yield less(`etcd grows with ${RENEWALS} renewals by`, "MB", (grown - before) / 1e6)
  yield less("of which after a compaction stay", "MB", (bytesInUse(etcd) - before) / 1e6)
}

function bytesInUse(etcd: TestEtcd): number {
  const [{ Status }] = JSON.parse(etcd.ctl("endpoint", "status", "--write-out=json")) as [
    { Status: { dbSizeInUse: number } },
  ]
  return Status.dbSizeInUse
}
