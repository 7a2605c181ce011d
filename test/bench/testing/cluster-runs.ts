/**
 * What clusters in memory (`k3ts/testing`) cost to start, to keep and to run; each measured in a process of its own:
 * `bun cluster-runs.ts NAME` prints the figures of one as JSON. Time is the machine's, whatever the clusters' clocks
 * say.
 */
import {
  CronJob,
  Deployment,
  Job,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  startCluster,
  type Cluster,
} from "../../../components/cluster/testing/testing.ts"
import { cpuMs, median } from "../figure.ts"

const STARTS = 200
export const ALIVE = 100
export const IN_A_ROW = 1000
/** How many tests a file has that is measured as a whole. */
export const TESTS = 100
export const CRON_JOBS = 20
export const MONTHS = 5
/** How many nodes are started where nothing else is done. */
export const STARTED_NODES = 2000
/** The sizes of large clusters. */
export const LARGE = { nodes: 1000, pods: 30_000 }
/** A cluster in which nothing happens: each pod has a readiness and a liveness probe. */
export const QUIET = { nodes: 1000, pods: 3000 }
/** As far as Kubernetes itself is said to go: https://kubernetes.io/docs/setup/best-practices/cluster-large/ */
export const LARGEST = { nodes: 5000, pods: 150_000 }
/** As in SchedulingBasic of the peer's test/integration/scheduler_perf. */
export const SCHEDULING_NODES = 5000
export const CLAIMS = 1000
const SCHEDULED_BEFORE = 1000
const SCHEDULED = 10_000
const MB = 2 ** 20

const deployment = (name: string, replicas: number, container: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "web", image: "web", ...container }] },
    },
  },
})

const now = () => performance.now()
const memory = () => {
  Bun.gc(true)
  return process.memoryUsage().rss / MB
}

const peakMemory = () => (process.resourceUsage().maxRSS * 1024) / MB

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
    times.push(
      await timed(async () => {
        cluster = await startCluster({ nodes, seed: i })
        await cluster.list(Namespace)
      }),
    )
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

/** Of a thousand clusters, one after the other: processor time in seconds, and memory in MB. */
export interface InARow {
  readonly seconds: number
  /** Over the second thousand, since the allocator needs the first to settle. */
  readonly growth: number
  readonly peak: number
}

async function inARow(): Promise<InARow> {
  const some = async () => {
    for (let i = 0; i < IN_A_ROW; i++) await (await startCluster({ nodes: 1, seed: i })).stop()
    return memory()
  }
  const seconds = cpuMs() / 1000
  const before = await some()
  const after = cpuMs() / 1000
  return { seconds: after - seconds, growth: (await some()) - before, peak: peakMemory() }
}

async function hundredReplicas(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 20; i++) {
    await using cluster = await startCluster({ nodes: 10, seed: i })
    times.push(
      await timed(async () => {
        await cluster.apply(deployment("web", 100))
        await cluster.eventually(Deployment, {}, ([web]) => web?.status.readyReplicas === 100)
      }),
    )
  }
  return median(times)
}

/** Claims of a class that binds at once, each with a volume that is made for it. */
async function claims(): Promise<number> {
  await using cluster = await startCluster({ nodes: 10 })
  await cluster.apply({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "disk" },
    provisioner: "disk.example.com",
  })
  const claim = (name: string) =>
    cluster.client.create(PersistentVolumeClaim, {
      metadata: { namespace: "default", name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        storageClassName: "disk",
      },
    })
  return await timed(async () => {
    await Promise.all(Array.from({ length: CLAIMS }, (_, i) => claim(`claim-${i}`)))
    await cluster.eventually(
      PersistentVolumeClaim,
      {},
      (all) => all.length === CLAIMS && all.every(({ status }) => status.phase === "Bound"),
    )
  })
}

/**
 * In milliseconds. The first run is that of a test alone in its process; the others find the engine warm, as in a
 * suite.
 */
export interface MonthRuns {
  readonly first: number
  readonly median: number
}

async function monthsOfCronJobs(): Promise<MonthRuns> {
  const times: number[] = []
  for (let i = 0; i < MONTHS; i++) times.push(await monthOfCronJobs())
  return { first: times[0]!, median: median(times) }
}

async function monthOfCronJobs(): Promise<number> {
  await using cluster = await startCluster({ nodes: 3, seed: 1 })
  await cluster.apply(
    Array.from({ length: CRON_JOBS }, (_, i) => ({
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: `nightly-${i}` },
      spec: {
        schedule: `${i} 0 * * *`,
        jobTemplate: {
          spec: {
            template: {
              spec: {
                restartPolicy: "Never",
                containers: [{ name: "work", image: "busybox", command: ["sleep", "60"] }],
              },
            },
          },
        },
      },
    })),
  )
  const ms = await timed(() => cluster.advance("30d"))
  const ended = (await cluster.list(Job)).filter(({ status }) => status.succeeded === 1).length
  if (ended < CRON_JOBS || (await cluster.list(CronJob)).some(({ status }) => status.lastScheduleTime === undefined))
    throw new Error(`the jobs did not run: ${ended} ended`)
  return ms
}

/** In seconds. Time begins to count when all pods are ready and their probes have run as often as they must. */
async function quietMonth(): Promise<number> {
  const { nodes, pods } = QUIET
  await using cluster = await startCluster({ nodes, seed: 1, frozen: false, history: "none" })
  const check = { httpGet: { path: "/", port: 80 }, periodSeconds: 10 }
  const names = Array.from({ length: 10 }, (_, i) => `web-${i}`)
  const probed = { readinessProbe: check, livenessProbe: check }
  await cluster.apply(names.map((name) => deployment(name, pods / names.length, probed)))
  await cluster.advance("1m")
  const ready = (await cluster.list(Deployment)).reduce((sum, { status }) => sum + (status.readyReplicas ?? 0), 0)
  if (ready !== pods) throw new Error(`only ${ready} pods are ready`)
  return (await timed(() => cluster.advance("30d"))) / 1000
}

/** In seconds, pods a second and MB. */
export interface LargeRun {
  readonly seconds: number
  readonly scheduled: number
  readonly peak: number
}

async function large({ nodes, pods }: typeof LARGE): Promise<LargeRun> {
  const began = now()
  await using cluster = await startCluster({ nodes, seed: 1, frozen: false, history: "none" })
  const names = Array.from({ length: 10 }, (_, i) => `web-${i}`)
  await cluster.apply(names.map((name) => deployment(name, pods / names.length)))
  await cluster.eventually(
    Deployment,
    {},
    (all) => all.every(({ status }) => status.readyReplicas === pods / names.length),
    { within: "1h" },
  )
  const seconds = (now() - began) / 1000
  return { seconds, scheduled: pods / seconds, peak: peakMemory() }
}

/** In seconds, of a process just begun: nobody starts so many nodes twice. */
async function startedNodes(): Promise<number> {
  const ms = await timed(() => startCluster({ nodes: STARTED_NODES, seed: 1, frozen: false, history: "none" }))
  return ms / 1000
}

/**
 * Pods that the scheduler places a second. As in the peer's benchmark there are nodes without kubelets, no controllers,
 * and some pods before those that count.
 */
async function scheduling(): Promise<number> {
  await using cluster = await startCluster({
    nodes: SCHEDULING_NODES,
    seed: 1,
    frozen: false,
    history: "none",
    components: { kubelet: false, controllers: false },
    admission: { disabled: ["ServiceAccount", "TaintNodesByCondition"] },
  })
  await placed(cluster, "before", SCHEDULED_BEFORE)
  return SCHEDULED / ((await timed(() => placed(cluster, "counted", SCHEDULED))) / 1000)
}

/** Creates pods, a hundred at a time, and waits until all have a node. */
async function placed(cluster: Cluster, name: string, count: number): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      while (next < count) {
        await cluster.client.create(Pod, {
          metadata: { name: `${name}-${next++}`, namespace: "default" },
          spec: {
            containers: [{ name: "pause", image: "pause", resources: { requests: { cpu: "100m", memory: "500Mi" } } }],
          },
        })
      }
    }),
  )
  await cluster.settle()
  const left = (await cluster.list(Pod)).filter(({ spec }) => spec.nodeName === undefined).length
  if (left > 0) throw new Error(`${left} pods have no node`)
}

export const RUNS = {
  start: () => starts(0),
  startWithNodes: () => starts(3),
  memoryOfOne,
  inARow,
  hundredReplicas,
  claims,
  monthsOfCronJobs,
  quietMonth,
  scheduling,
  startedNodes,
  large: () => large(LARGE),
  largest: () => large(LARGEST),
} satisfies Readonly<Record<string, () => Promise<number | MonthRuns | LargeRun | InARow>>>

if (import.meta.main) {
  const name = process.argv[2] ?? ""
  if (!Object.hasOwn(RUNS, name)) {
    process.stderr.write(
      `No figure is called ${JSON.stringify(name)}: expected one of ${Object.keys(RUNS).join(", ")}\n`,
    )
    process.exit(2)
  }
  const run = RUNS[name as keyof typeof RUNS]
  process.stdout.write(JSON.stringify(await run()))
  process.exit(0)
}
