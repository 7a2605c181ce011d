import { startServer, type TestServer } from "../../harness/server.ts"
import type { Benchmark, Figure } from "../figure.ts"

/** Deployments that come and go in one round, and pods of each: as much as comes about in a busy small cluster. */
const DEPLOYMENTS = 4
const REPLICAS = 10
/** A round begins so often; 30 minutes of it are 8,000 pods. */
const ROUND_MS = 9000
/** When a server has started, and has given back nothing of what its start took: it does so after three seconds. */
const STARTED_MS = 2000
/** When it has given back what a server at rest does not need. */
const RESTS_MS = 5000
/** How long the server is left alone at the end. */
const IDLE_MS = 180_000

const DEPLOYMENTS_PATH = "/apis/apps/v1/namespaces/default/deployments"
const PODS_PATH = "/api/v1/namespaces/default/pods"

/**
 * What a server's memory is before, during and after a time of churn, with a simulated node: `npm run bench -- soak
 * 30`, in minutes of churn.
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
    await Bun.sleep(RESTS_MS - STARTED_MS)
    const before = server.residentMb()
    let peak = before
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
    yield { name: "memory of a server that has just started", unit: "MB", value: started, better: "less" }
    yield { name: `memory at rest, before ${minutes} minutes of churn`, unit: "MB", value: before, better: "less" }
    yield { name: `memory at most, while ${pods} pods came and went`, unit: "MB", value: peak, better: "less" }
    await Bun.sleep(IDLE_MS)
    yield {
      name: `memory ${IDLE_MS / 60_000} minutes after it`,
      unit: "MB",
      value: server.residentMb(),
      goal: 1.3 * before,
      better: "less",
    }
    const { body } = await server.get("/api/v1/events?limit=1")
    const { metadata, items } = JSON.parse(body.toString()) as {
      metadata: { remainingItemCount?: number }
      items: unknown[]
    }
    console.error(`(${items.length + (metadata.remainingItemCount ?? 0)} Events of it are there for an hour)`)
  },
})

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
