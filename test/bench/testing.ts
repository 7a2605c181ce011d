/**
 * Clusters in memory (`k3ts/testing`): what starting, keeping and running them costs. Time is the machine's, whatever the clusters' clocks say. The largest runs in a
 * process of its own, so that its memory is its own.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { CronJob, Deployment, Job, Namespace, startCluster, type Cluster } from "../../pkg/testing/testing.ts"
import { median, type Benchmark, type Figure } from "./figure.ts"

const STARTS = 200
const ALIVE = 100
const IN_A_ROW = 1000
const CRON_JOBS = 20
const NODES = 1000
const PODS = 30_000
const MB = 2 ** 20

const deployment = (name: string, replicas: number) => ({
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "web", image: "web" }] } } },
})

const now = () => performance.now()
const memory = () => {
  Bun.gc(true)
  return process.memoryUsage().rss / MB
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = now()
  await work()
  return now() - began
}

/** From nothing to the first answer. */
async function starts(nodes: number): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < STARTS; i++) {
    let cluster: Cluster | undefined
    times.push(await timed(async () => {
      cluster = await startCluster({ nodes, seed: i })
      await cluster.list(Namespace)
    }))
    await cluster!.stop()
  }
  return median(times)
}

async function memoryOfOne(): Promise<number> {
  const before = memory()
  const clusters: Cluster[] = []
  for (let i = 0; i < ALIVE; i++) clusters.push(await startCluster({ seed: i }))
  const after = memory()
  for (const cluster of clusters) await cluster.stop()
  return (after - before) / ALIVE
}

/** Growth from the first quarter, by when everything is warm, to the end. */
async function growth(): Promise<number> {
  let early = 0
  for (let i = 0; i < IN_A_ROW; i++) {
    await (await startCluster({ nodes: 1, seed: i })).stop()
    if (i === IN_A_ROW / 4) early = memory()
  }
  return memory() - early
}

async function hundredReplicas(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 10; i++) {
    await using cluster = await startCluster({ nodes: 10, seed: i })
    times.push(await timed(async () => {
      await cluster.apply(deployment("web", 100))
      await cluster.eventually(Deployment, {}, ([web]) => web?.status.readyReplicas === 100)
    }))
  }
  return median(times)
}

async function monthOfCronJobs(): Promise<number> {
  await using cluster = await startCluster({ nodes: 3, seed: 1 })
  await cluster.apply(Array.from({ length: CRON_JOBS }, (_, i) => ({
    apiVersion: "batch/v1", kind: "CronJob", metadata: { name: `nightly-${i}` },
    spec: { schedule: `${i} 0 * * *`, jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "work", image: "busybox", command: ["sleep", "60"] }] } } } } },
  })))
  const ms = await timed(() => cluster.advance("30d"))
  const ended = (await cluster.list(Job)).filter(({ status }) => status.succeeded === 1).length
  if (ended < CRON_JOBS || (await cluster.list(CronJob)).some(({ status }) => status.lastScheduleTime === undefined)) throw new Error(`the jobs did not run: ${ended} ended`)
  return ms
}

/** In seconds, pods a second and MB. */
interface LargeRun { readonly seconds: number; readonly scheduled: number; readonly peak: number }

async function large(): Promise<LargeRun> {
  const began = now()
  await using cluster = await startCluster({ nodes: NODES, seed: 1, frozen: false, history: "none" })
  const names = Array.from({ length: 10 }, (_, i) => `web-${i}`)
  await cluster.apply(names.map((name) => deployment(name, PODS / names.length)))
  await cluster.eventually(Deployment, {}, (all) => all.every(({ status }) => status.readyReplicas === PODS / names.length), { within: "1h" })
  const seconds = (now() - began) / 1000
  return { seconds, scheduled: PODS / seconds, peak: (process.resourceUsage().maxRSS * 1024) / MB }
}

const LARGE = "--large"

function largeElsewhere(): LargeRun {
  const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), LARGE], { encoding: "utf8", maxBuffer: MB })
  if (status !== 0) throw new Error(`the large cluster failed: ${stderr}`)
  return JSON.parse(stdout) as LargeRun
}

export const testing: Benchmark = {
  name: "testing",
  async *run(): AsyncIterable<Figure> {
    yield { name: "test cluster: start to first answer", unit: "ms", value: await starts(0), goal: 10, better: "less" }
    yield { name: "test cluster: the same with 3 nodes", unit: "ms", value: await starts(3), goal: 15, better: "less" }
    yield { name: `test cluster: memory of one, ${ALIVE} alive`, unit: "MB", value: await memoryOfOne(), goal: 3, better: "less" }
    yield { name: `test cluster: growth over ${IN_A_ROW} in a row`, unit: "MB", value: await growth(), goal: 20, better: "less" }
    yield { name: "test cluster: 100 replicas on 10 nodes Ready", unit: "ms", value: await hundredReplicas(), goal: 100, better: "less" }
    yield { name: `test cluster: 30 days of ${CRON_JOBS} CronJobs`, unit: "s", value: (await monthOfCronJobs()) / 1000, goal: 2, better: "less" }
    const { seconds, scheduled, peak } = largeElsewhere()
    yield { name: `test cluster: ${NODES} nodes, ${PODS} pods Running`, unit: "s", value: seconds, goal: 60, better: "less" }
    yield { name: "test cluster: pods created, scheduled and started", unit: "/s", value: scheduled, goal: 680, better: "more" }
    yield { name: "test cluster: peak memory of that", unit: "MB", value: peak, goal: 1536, better: "less" }
  },
}

if (process.argv.includes(LARGE)) {
  process.stdout.write(JSON.stringify(await large()))
  process.exit(0)
}
