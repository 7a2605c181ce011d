import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createApiServer } from "../../../components/apiserver/apiserver.ts"
import { Clients } from "../../../components/cluster/clients.ts"
import { clusterSnapshots, snapshotSocket } from "../../../components/cluster/snapshots.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { SnapshotFolder } from "../../../pkg/snapshot/folder.ts"
import { isFile } from "../../../pkg/snapshot/records.ts"
import { askForSnapshot } from "../../../pkg/snapshot/socket.ts"
import { openSnapshot } from "../../../pkg/snapshot/unpack.ts"
import { createStore, type KeptObject } from "../../../pkg/storage/sqlite/create.ts"
import { EXECUTABLE, startServer } from "../../harness/server.ts"
import type { Benchmark, Figure } from "../figure.ts"

/** A GiB of objects of 10 KiB, half of which compresses. */
const OBJECTS = 100_000
const HALF_BYTES = 5 * 1024
const WRITES_PER_SECOND = 5000
const WRITERS = 64

/** Saving and restoring a large cluster, and what a snapshot costs those who write meanwhile. */
export const snapshot: Benchmark = {
  name: "snapshot",
  async *run() {
    const root = mkdtempSync(join(tmpdir(), "k3ts-bench-snapshot-"))
    try {
      const dataDir = join(root, "large")
      mkdirSync(join(dataDir, "server/db"), { recursive: true, mode: 0o700 })
      await createStore(join(dataDir, "server/db/state.db"), OBJECTS, "bench", objects())
      yield* saved(dataDir)
      yield* restored(dataDir, join(root, "restored"))
      yield* underLoad(dataDir)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
}

async function* objects(): AsyncGenerator<KeptObject> {
  for (let i = 1; i <= OBJECTS; i++) {
    const random = Buffer.from(systemRandom.bytes((HALF_BYTES * 3) / 4)).toString("base64")
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `c${i}`, namespace: "default", uid: crypto.randomUUID(), resourceVersion: String(i) },
      data: { random, text: "all the same ".repeat(HALF_BYTES / 13) },
    }
    const key = `/registry/core/configmaps/default/c${i}`
    const value = Buffer.from(JSON.stringify(object))
    yield { key, revision: i, created: i, time: 0, transient: false, seldomRead: false, value }
    if (i % 100 === 0) await Promise.resolve()
  }
}

async function* saved(dataDir: string): AsyncGenerator<Figure> {
  await using server = await startServer({ dataDir })
  const before = server.residentMb()
  const run = command("save", dataDir)
  let most = before
  const looking = setInterval(() => (most = Math.max(most, server.residentMb())), 20)
  const { seconds, megabytes } = await run
  clearInterval(looking)
  const [name = ""] = readdirSync(join(dataDir, "snapshots"))
  yield { name: "1 GiB of objects, save", unit: "s", value: seconds, goal: 30, better: "less" }
  const size = statSync(join(dataDir, "snapshots", name)).size / 2 ** 20
  yield { name: "1 GiB of objects, the file", unit: "MB", value: size, better: "less" }
  yield { name: "memory of the server more", unit: "MB", value: most - before, goal: 200, better: "less" }
  yield { name: "memory of `snapshot save`", unit: "MB", value: megabytes, goal: 300, better: "less" }
}

async function* restored(from: string, dataDir: string): AsyncGenerator<Figure> {
  const [name = ""] = readdirSync(join(from, "snapshots"))
  const { seconds, megabytes } = await command("restore", dataDir, join(from, "snapshots", name))
  yield { name: "1 GiB of objects, restore", unit: "s", value: seconds, goal: 30, better: "less" }
  yield { name: "memory of `snapshot restore`", unit: "MB", value: megabytes, goal: 300, better: "less" }
  await using server = await startServer({ dataDir })
  yield { name: "1 GiB of objects, start after the restore", unit: "s", value: server.readyAfter, better: "less" }
}

async function command(name: string, dataDir: string, ...args: readonly string[]) {
  const from = performance.now()
  const child = Bun.spawn([EXECUTABLE, "snapshot", name, "--config", "/dev/null", "--data-dir", dataDir, ...args])
  if ((await child.exited) !== 0) throw new Error(`k3ts snapshot ${name} failed`)
  return { seconds: (performance.now() - from) / 1000, megabytes: (child.resourceUsage()?.maxRSS ?? 0) / 2 ** 20 }
}

/** Writes all the time, with and without a snapshot being taken, and checks that the snapshot has what came before it. */
async function* underLoad(dataDir: string): AsyncGenerator<Figure> {
  const tools = { clock: realClock, random: systemRandom, log: silent, spawn: () => undefined }
  const server = createApiServer(tools, {
    dataDir,
    serviceCidrs: ["10.43.0.0/16"],
    nodePorts: { first: 30000, last: 32767 },
    clusterDomain: "cluster.local",
    nodes: new NodeConnectors(),
    maxInFlight: { reads: 400, writes: 400 },
  })
  const never = new AbortController().signal
  await server.start(never)
  const clients = new Clients(tools, (user) => server.transportFor(user))
  const snapshots = clusterSnapshots(tools, { apiServer: server, clients }, { dataDir, node: "bench" })
  await snapshots.start(never)
  const client = newClient(server.transportFor({ name: "admin", groups: ["system:masters", "system:authenticated"] }))
  const acknowledged = new Map<string, string>()
  let ending = false
  let due = performance.now()
  let delays: number[] = []
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; !ending; n++) {
      due = Math.max(due + 1000 / WRITES_PER_SECOND, performance.now() - 1000)
      if (due > performance.now()) await Bun.sleep(due - performance.now())
      const from = performance.now()
      const name = `w${writer}-${n}`
      const { metadata } = await client.create(ConfigMap, { metadata: { name, namespace: "default" }, data: { name } })
      acknowledged.set(name, metadata.uid ?? "")
      delays.push(performance.now() - from)
    }
  })
  const writesFor = async (during: Promise<unknown>) => {
    delays = []
    const from = performance.now()
    await during
    const sorted = delays.toSorted((a, b) => a - b)
    const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]!
    return { perSecond: (sorted.length * 1000) / (performance.now() - from), p99: at(0.99), most: at(1) }
  }
  await Bun.sleep(2000)
  const quiet = await writesFor(Bun.sleep(5000))
  const before = new Map(acknowledged)
  const folder = new SnapshotFolder(join(dataDir, "under-load"))
  const busy = await writesFor(folder.save("s", askForSnapshot(snapshotSocket(dataDir), { compression: "zstd" })))
  ending = true
  await Promise.all(writers)
  await snapshots.stop()
  await server.stop()
  const found = new Map<string, string>()
  await folder.open("s", async (source) => {
    for await (const record of (await openSnapshot(source)).records()) {
      if (isFile(record) || !/\/w\d+-\d+$/.test(record.key)) continue
      const { metadata } = JSON.parse(Buffer.from(record.value).toString()) as {
        metadata: { name: string; uid: string }
      }
      found.set(metadata.name, metadata.uid)
    }
  })
  for (const [name, uid] of before)
    if (found.get(name) !== uid) throw new Error(`${name} was acknowledged before the snapshot, and is not in it`)
  const limit = (value: number) => ({ what: "without a snapshot", value })
  yield {
    name: "writes while a snapshot is taken",
    unit: "/s",
    value: busy.perSecond,
    limit: limit(quiet.perSecond),
    goal: 0.9 * Math.min(WRITES_PER_SECOND, quiet.perSecond),
    better: "more",
  }
  yield { name: "the same, 99th percentile", unit: "ms", value: busy.p99, limit: limit(quiet.p99), better: "less" }
  yield { name: "the same, longest", unit: "ms", value: busy.most, limit: limit(quiet.most), better: "less" }
}
