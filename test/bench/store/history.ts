import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Deployment, startCluster, type HistoryEntry } from "../../../components/cluster/testing/testing.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"
import type { Benchmark } from "../figure.ts"

/** As many hours are simulated; the others of the day are like them. */
const HOURS = 4
const HOURS_OF_DAY = 24
const MB = 1e6

/** A Job every minute, and ten pods that are rolled out every hour. */
const CHURN = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: each-minute}
spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "web:1"}]}}
`

/** What the earlier states of a day of churn take on the disk. */
export const history: Benchmark = {
  name: "history",
  async *run() {
    const root = mkdtempSync(join(tmpdir(), "k3ts-bench-history-"))
    try {
      const entries = await churn()
      const [all, newest] = [
        await sizeOf(join(root, "all.db"), entries),
        await sizeOf(join(root, "new.db"), last(entries)),
      ]
      const day = HOURS_OF_DAY / HOURS
      yield {
        name: "history of a day of churn, on disk",
        unit: "MB",
        value: ((all - newest) / MB) * day,
        better: "less",
      }
      yield { name: "writes of a day of churn", unit: "/s", value: entries.length / (HOURS * 3600), better: "less" }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
}

async function churn(): Promise<readonly HistoryEntry[]> {
  await using cluster = await startCluster({ nodes: 2, seed: 1, frozen: false, images: { "job:1": { runsMs: 5000 } } })
  await cluster.apply(CHURN)
  for (let hour = 0; hour < HOURS; hour++) {
    await cluster.advance("1h")
    await cluster.restart(Deployment, "web")
  }
  return cluster.history()
}

const keyOf = ({ object: { kind, metadata } }: HistoryEntry): string =>
  `/registry/bench/${kind}/${metadata.namespace ?? ""}/${metadata.name ?? ""}`

/** Returns the newest write of each object that is there at the end, as its first one. */
function last(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const newest = new Map(entries.map((entry) => [keyOf(entry), entry]))
  return [...newest.values()].filter(({ type }) => type !== "delete")
}

/** Returns the size of a store in which these writes were made, in bytes. */
async function sizeOf(file: string, entries: readonly HistoryEntry[]): Promise<number> {
  const store = new SqliteStorage({ file, clock: realClock, historyBytes: Number.MAX_SAFE_INTEGER })
  for (const entry of entries) {
    const { type, object, author, time } = entry
    const isLease = object.kind === "Lease"
    if (type === "delete" && store.get(keyOf(entry)) === undefined) continue
    await store.write({
      key: keyOf(entry),
      object: type === "delete" ? null : object,
      expected: undefined,
      time: Date.parse(time),
      author,
      highChurn: isLease,
      seldomRead: object.kind === "Event",
    })
  }
  store.close()
  return statSync(file).size
}
