import { startServer, type TestServer } from "../../harness/server.ts"
import type { Benchmark, Figure } from "../figure.ts"

/** Deployments that come and go in one round, and pods of each: as much as comes about in a busy small cluster. */
const DEPLOYMENTS = 4
const REPLICAS = 10
/** A round begins so often; 30 minutes of it are 8,000 pods. */
const ROUND_MS = 9000
/** When a server has started, and has given back nothing of what its start took: it does so after three seconds. */
const STARTED_MS = 2000
/** How long the server is left alone, before the churn and after it, until its memory is read. */
const IDLE_MS = 180_000
/**
 * How long its memory is then read for, and how often. It is the time after which an idle server unmaps its program
 * again: what it has read of that since is up to 15 MB, so a single reading would tell mostly when it was taken.
 */
const READ_MS = 30_000
const READ_EVERY_MS = 500

const DEPLOYMENTS_PATH = "/apis/apps/v1/namespaces/default/deployments"
const PODS_PATH = "/api/v1/namespaces/default/pods"

/**
 * What a server's memory is before, during and after a time of churn, with a simulated node: `npm run bench -- soak
 * 30`, in minutes of churn. It takes seven minutes more.
 */
export const soak = (minutes: number): Benchmark => ({
  name: "soak",
  async *run(): AsyncIterable<Figure> {
    await using server = await startServer({
      agent: "simulated",
      flags: ["--disable", "dns"],
    })
    await Bun.sleep(STARTED_MS)
    const started = server.residentMb()
    const before = await atRest(server)
    let peak = before.resident
    const watching = setInterval(() => (peak = Math.max(peak, server.residentMb())), 1000)
    const end = performance.now() + minutes * 60_000
    let pods = 0
    for (let round = 0; performance.now() < end; round++) {
      const next = performance.now() + ROUND_MS
      await churn(server, round)
      pods += DEPLOYMENTS * REPLICAS
      await Bun.sleep(Math.max(0, next - performance.now()))
    }
    clearInterval(watching)
    yield memory("a server that has just started", started)
    yield memory(`one at rest, before ${minutes} minutes of churn`, before.resident)
    yield memory("the same, without pages of files", before.own)
    yield memory(`one while ${pods} pods came and went, at most`, peak)
    const after = await atRest(server)
    yield memory("one at rest after it", after.resident, 1.3 * before.resident)
    yield memory("the same after it, without pages of files", after.own)
    const { body } = await server.get("/api/v1/events?limit=1")
    const { metadata, items } = JSON.parse(body.toString()) as {
      metadata: { remainingItemCount?: number }
      items: unknown[]
    }
    console.error(`(${items.length + (metadata.remainingItemCount ?? 0)} Events of it are there for an hour)`)
  },
})

const memory = (whose: string, value: number, goal?: number): Figure => ({
  name: `memory of ${whose}`,
  unit: "MB",
  value,
  goal,
  better: "less",
})

/** Leaves a server alone, and returns its memory then, in MB: the mean over the time in which it swings. */
async function atRest(server: TestServer): Promise<{ resident: number; own: number }> {
  await Bun.sleep(IDLE_MS - READ_MS)
  let [resident, own] = [0, 0]
  const readings = READ_MS / READ_EVERY_MS
  for (let i = 0; i < readings; i++) {
    await Bun.sleep(READ_EVERY_MS)
    resident += server.residentMb() / readings
    own += server.ownMb() / readings
  }
  return { resident, own }
}

/** Deployments are made, become ready, and are deleted with their pods. */
async function churn(server: TestServer, round: number): Promise<void> {
  const names = Array.from({ length: DEPLOYMENTS }, (_, i) => `soak-${round}-${i}`)
  await Promise.all(names.map((name) => asked(server, "POST", DEPLOYMENTS_PATH, deployment(name))))
  const ready = async () => {
    const { items } = await asked(server, "GET", DEPLOYMENTS_PATH)
    return items.every(({ status }) => status?.readyReplicas === REPLICAS)
  }
  await until(ready)
  await Promise.all(names.map((name) => asked(server, "DELETE", `${DEPLOYMENTS_PATH}/${name}`)))
  await until(async () => (await asked(server, "GET", `${PODS_PATH}?limit=1`)).items.length === 0)
}

const deployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "web", image: "k3ts.local/web:1" }] },
    },
  },
})

interface Collection {
  readonly items: readonly { readonly status?: { readonly readyReplicas?: number } }[]
}

async function asked(server: TestServer, method: string, path: string, body?: unknown): Promise<Collection> {
  const answer = method === "GET" ? await server.get(path) : await server.send(method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body.toString()}`)
  return JSON.parse(answer.body.toString()) as Collection
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(50)
}
