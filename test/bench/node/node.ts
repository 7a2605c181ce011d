import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { median, type Benchmark, type Figure } from "../figure.ts"
import { rawPods } from "./raw-pods.ts"
import { EXECUTABLE, startServer, type TestServer } from "../../harness/server.ts"

const run = promisify(execFile)
const WEB = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { terminationGracePeriodSeconds: 5, containers: [{ name: "web", image: "k3ts.local/web:1" }] },
    },
  },
}

const CLAIMED_PODS = 9
/**
 * The writes between a claim and its mount, each of which waits for the one before: the claim, its node, the volume,
 * the binding of the volume, and that of the claim with its status.
 */
const CLAIM_WRITES = 6

/**
 * A whole node: how soon it is there, how soon pods are, what it costs at rest. Beside it the same pods straight
 * through the CRI.
 */
export const node: Benchmark = {
  name: "node",
  needs: () => (process.getuid?.() === 0 ? undefined : "needs root"),
  async *run() {
    await using server = await startServer({ agent: true })
    yield { name: "empty disk → /readyz", unit: "s", value: server.readyAfter, goal: 0.25, better: "less" }
    await until(server, "/api/v1/nodes", (list) => list.items.some(isReady))
    yield {
      name: "empty disk → node Ready",
      unit: "s",
      value: (performance.now() - server.startedAt) / 1000,
      goal: 1,
      better: "less",
    }

    await Bun.sleep(5000)
    const [cpu, at] = [server.cpuSeconds(), performance.now()]
    await Bun.sleep(30_000)
    yield {
      name: "idle CPU",
      unit: "% of a core",
      value: ((server.cpuSeconds() - cpu) * 100_000) / (performance.now() - at),
      goal: 1,
      better: "less",
    }
    yield { name: "resident memory, idle", unit: "MB", value: server.residentMb(), goal: 120, better: "less" }

    await importImages(server)
    const raw = await rawPods()
    const ready = (count: number) =>
      until(
        server,
        "/apis/apps/v1/namespaces/default/deployments/web",
        (web) => web.status?.readyReplicas === count && web.status?.replicas === count,
      )
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const start = performance.now()
      await work()
      return (performance.now() - start) / 1000
    }
    const three = await timed(async () => {
      await server.send("POST", "/apis/apps/v1/namespaces/default/deployments", WEB)
      await ready(3)
    })
    yield {
      name: "apply of 3 replicas → Ready",
      unit: "s",
      value: three,
      goal: 0.8,
      better: "less",
      limit: { what: "3 pods straight through the CRI", value: raw.three },
    }
    const scale = (replicas: number) =>
      server.send(
        "PATCH",
        "/apis/apps/v1/namespaces/default/deployments/web",
        { spec: { replicas } },
        "application/merge-patch+json",
      )
    const thirty = await timed(async () => {
      await scale(30)
      await ready(30)
    })
    yield {
      name: "3 → 30 replicas Ready",
      unit: "s",
      value: thirty,
      goal: 3.5,
      better: "less",
      limit: { what: "27 pods straight through the CRI", value: raw.twentySeven },
    }
    yield await claimed(server)
    await Bun.sleep(5000)
    yield { name: "resident memory with 30 pods", unit: "MB", value: server.residentMb(), goal: 160, better: "less" }
    const gone = await timed(async () => {
      await scale(0)
      await until(server, "/api/v1/namespaces/default/pods", (list) => list.items.length === 0)
    })
    yield {
      name: "30 → 0 gone",
      unit: "s",
      value: gone,
      goal: 5,
      better: "less",
      limit: { what: "30 pods removed straight through the CRI", value: raw.removeThirty },
    }

    await scale(100)
    await ready(100)
    const metrics = "/apis/metrics.k8s.io/v1beta1/pods"
    await until(server, metrics, (list) => list.items.length >= 100)
    const [asked, listed]: [number[], number[]] = [[], []]
    for (let times = 0; times < 30; times++) {
      asked.push(await timed(() => server.get(metrics)))
      listed.push(await timed(() => server.get("/api/v1/pods")))
    }
    yield {
      name: "what 100 pods use, as `kubectl top pods -A` asks",
      unit: "ms",
      value: median(asked) * 1000,
      goal: 50,
      better: "less",
      limit: { what: "a list of the same pods", value: median(listed) * 1000 },
    }
  },
}

/** How much later a pod is Ready for which a volume is made, bound and mounted: medians of a few that take turns. */
async function claimed(server: TestServer): Promise<Figure> {
  const pods = "/api/v1/namespaces/default/pods"
  const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
  const ready = async (name: string, withClaim: boolean): Promise<number> => {
    const began = performance.now()
    if (withClaim)
      await server.send("POST", claims, {
        metadata: { name },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
      })
    await server.send("POST", pods, {
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: "web",
            image: "k3ts.local/web:1",
            ...(withClaim ? { volumeMounts: [{ name: "data", mountPath: "/data" }] } : {}),
          },
        ],
        ...(withClaim ? { volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }] } : {}),
      },
    })
    await until(server, `${pods}/${name}`, isReady)
    return performance.now() - began
  }
  const configMaps = "/api/v1/namespaces/default/configmaps"
  const written = async (name: string): Promise<number> => {
    const began = performance.now()
    for (let i = 0; i < CLAIM_WRITES; i++)
      await server.send("POST", configMaps, { metadata: { name: `${name}-${i}` }, data: {} })
    return performance.now() - began
  }
  const [without, within, writes]: [number[], number[], number[]] = [[], [], []]
  for (let i = 0; i < CLAIMED_PODS; i++) {
    without.push(await ready(`plain-${i}`, false))
    within.push(await ready(`claimed-${i}`, true))
    writes.push(await written(`write-${i}`))
  }
  for (let i = 0; i < CLAIMED_PODS; i++)
    for (const path of [`${pods}/plain-${i}`, `${pods}/claimed-${i}`, `${claims}/claimed-${i}`])
      await server.send("DELETE", path, {})
  return {
    name: "claim provisioned, bound and mounted, over a pod without one",
    unit: "ms",
    value: median(within) - median(without),
    goal: 50,
    better: "less",
    limit: { what: `${CLAIM_WRITES} writes, one after another`, value: median(writes) },
  }
}

interface Answer {
  readonly items: readonly Answer[]
  readonly status?: {
    readonly readyReplicas?: number
    readonly replicas?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const isReady = ({ status }: Answer): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true

/** Asks again and again until the answer is as wanted: the benchmark, unlike a test, measures when. */
async function until(server: TestServer, path: string, wanted: (answer: Answer) => boolean): Promise<void> {
  for (const start = performance.now(); ; await Bun.sleep(5)) {
    const { status, body } = await server.get(path)
    if (status === 200 && wanted(JSON.parse(body.toString()) as Answer)) return
    if (performance.now() - start > 120_000)
      throw new Error(`${path} was not as wanted after two minutes: ${body.toString().slice(0, 2000)}`)
  }
}

async function importImages(server: TestServer): Promise<void> {
  await run(EXECUTABLE, ["images", "import", "--data-dir", server.dataDir, "dist/images/k3ts-examples.tar"])
}
