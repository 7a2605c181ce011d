import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startCluster } from "../../../components/cluster/testing/testing.ts"
import { EXECUTABLE } from "../../harness/server.ts"
import { cpuMs, type Benchmark, type Figure } from "../figure.ts"

const PODS_PER_NODE = 50
const PODS_PER_WORKLOAD = 20

/** What `k3ts what-if` costs from its start to its answer, of a cluster in which pods, Services and budgets are. */
const ofPods = (name: string, pods: number, goal: number): Benchmark => ({
  name,
  async *run() {
    const folder = mkdtempSync(join(tmpdir(), "k3ts-bench-forecast-"))
    try {
      yield* forecasts(folder, pods, goal)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

export const forecast = ofPods("forecast", 200, 2)
/** Takes minutes, nearly all of them to make the cluster. */
export const largestForecast = ofPods("largest-forecast", 5000, 20)

async function* forecasts(folder: string, pods: number, goal: number): AsyncIterable<Figure> {
  const file = join(folder, `${pods}.k3ts`)
  writeFileSync(file, await snapshotWith(pods))
  const changes = ["scale deployment web-0 --replicas 40", "drain node-0", "lose node-0"]
  for (const change of changes) {
    const name = `what-if ${change.split(" ")[0]}: ${pods} pods`
    const [began, cpu] = [performance.now(), cpuMs()]
    const { status, stderr } = spawnSync(EXECUTABLE, ["what-if", "--snapshot", file, ...change.split(" ")], {
      encoding: "utf8",
    })
    if (status === null || status > 1) throw new Error(`what-if ${change} failed: ${stderr}`)
    yield { name, unit: "s", value: (performance.now() - began) / 1000, goal, better: "less" }
    yield { name: `${name}, processor time`, unit: "s", value: (cpuMs() - cpu) / 1000, better: "less" }
  }
}

/** Returns a snapshot of a cluster with this many ready pods. */
async function snapshotWith(pods: number): Promise<Uint8Array> {
  await using cluster = await startCluster({
    nodes: pods / PODS_PER_NODE,
    seed: 1,
    frozen: false,
    history: "none",
    images: { web: { startMs: 1000, listensAfterMs: 3000 } },
  })
  const names = Array.from({ length: pods / PODS_PER_WORKLOAD }, (_, i) => `web-${i}`)
  for (const name of names) {
    await cluster.apply(workload(name))
    await cluster.advance("1m")
  }
  // Awaited here: the cluster ends with this block.
  return await cluster.snapshot()
}

const workload = (name: string) => [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: PODS_PER_WORKLOAD,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [
            {
              name: "web",
              image: "web",
              resources: { requests: { cpu: "100m" } },
              readinessProbe: { httpGet: { port: 80 } },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
  },
]
