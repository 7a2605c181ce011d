import { describe, expect, test } from "bun:test"
import { Deployment, Pod, startCluster, type Cluster, type ClusterOptions } from "../testing.ts"

type Skips = NonNullable<ClusterOptions["skips"]>

const probe = (check: object, periodSeconds: number) => ({ ...check, periodSeconds })
const HTTP = { httpGet: { path: "/", port: 80 } }

const deployment = (name: string, image: string, probes: object) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image, ...probes }] } },
  },
})

/** Pods with every kind of probe, whose answers are those of the simulation. */
const WEB = [
  deployment("http", "web", { readinessProbe: probe(HTTP, 3), livenessProbe: probe(HTTP, 10) }),
  deployment("tcp", "web", { readinessProbe: probe({ tcpSocket: { port: 80 } }, 5) }),
  deployment("grpc", "web", { livenessProbe: probe({ grpc: { port: 80 } }, 7) }),
  deployment("exec", "web", { startupProbe: probe(HTTP, 1), readinessProbe: probe({ exec: { command: ["ok"] } }, 2) }),
]

async function quiet(options: ClusterOptions): Promise<Cluster> {
  const cluster = await startCluster({ nodes: 2, seed: 1, images: { web: { listensAfterMs: 1500 } }, ...options })
  await cluster.apply(WEB)
  await cluster.eventually(Deployment, {}, (all) => all.every(({ status }) => status.readyReplicas === 2))
  return cluster
}

/** Counts the instants at which something was due. */
async function instants(cluster: Cluster, within: string): Promise<number> {
  let count = 0
  await cluster.eventually(() => ++count < 0, { within }).catch(() => undefined)
  return count
}

describe("probes that are known to change nothing", () => {
  test("are left out: a quiet day of pods with probes has few instants", async () => {
    // given
    await using cluster = await quiet({})
    await cluster.advance("30s") // after the first checks that count
    // then
    expect(await instants(cluster, "1d")).toBeLessThan(100)
  })

  test("make the same history as when all of them run, whatever happens between", async () => {
    // given
    const history = async (skips: Skips) => {
      await using cluster = await quiet({ skips })
      const [first, second] = await cluster.list(Pod, { labels: "app=http" })
      // when containers end, nodes are slow or lost, the wall clock jumps, and pods are replaced
      await cluster.advance("61s")
      cluster.container(first!)!.exit(1)
      await cluster.advance("45.5s")
      await using slow = await cluster.faults.nodeSlow(second!.spec.nodeName!, 3000)
      await cluster.advance("1m")
      await slow.end()
      await cluster.faults.clockJump("-1h")
      await cluster.advance("33s")
      cluster.machine("node-0").faults.slowDown(1500)
      await cluster.advance("20s")
      const lost = await cluster.faults.nodeLost("node-1")
      await cluster.advance("7m")
      await lost.end()
      for (const pod of await cluster.list(Pod, { labels: "app=exec" })) await cluster.delete(Pod, pod)
      await cluster.advance("10m")
      return cluster.history().map(({ revision, type, time, author, object }) => ({
        revision,
        type,
        time,
        author,
        object,
      }))
    }
    // then
    expect(await history(["probes"])).toEqual(await history([]))
  })

  test("count as checks in the kubelet's metrics", async () => {
    // given
    const counted = async (skips: Skips) => {
      await using cluster = await quiet({ skips })
      await cluster.advance("5m")
      const [pod] = await cluster.list(Pod, { labels: "app=grpc" })
      const metrics = async () => {
        const request = new Request("http://node/metrics/probes")
        const answer = await cluster.connector(pod!.spec.nodeName!)!.proxy!(request)
        return (await answer.text()).split("\n").filter((line) => line.startsWith("prober_probe_total"))
      }
      const first = await metrics()
      await cluster.advance("5m")
      cluster.container(pod!)!.exit(1)
      await cluster.advance("5m")
      return [first, await metrics()]
    }
    // then
    expect(await counted(["probes"])).toEqual(await counted([]))
  })

  test("run where the test's own function answers them", async () => {
    // given
    let asked = 0
    const http = () => {
      asked++
      return new Response("ok")
    }
    await using cluster = await startCluster({ nodes: 1, images: { web: { http } } })
    await cluster.apply(deployment("http", "web", { livenessProbe: probe(HTTP, 10) }))
    // when
    await cluster.advance("10m")
    // then
    expect(asked).toBe(2 * 61)
  })

  test("a wrong name of what to skip is refused", async () => {
    const skips = ["probe"] as unknown as Skips
    const refused = await startCluster({ skips }).catch((err: Error) => err)
    expect((refused as Error).message).toBe(
      'Cannot skip "probe"; did you mean probes?: expected "heartbeats" or "probes"',
    )
  })
})
