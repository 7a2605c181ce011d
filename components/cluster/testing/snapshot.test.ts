import { describe, expect, test } from "bun:test"
import { inOrder } from "../../../pkg/snapshot/in-order.ts"
import { packSnapshot } from "../../../pkg/snapshot/pack.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { ADMIN, clusterParts } from "./cluster-parts.ts"
import { ConfigMap, Deployment, Node, Pod, Service, startCluster, type ClusterOptions } from "./testing.ts"

const TAKEN = Date.UTC(2026, 5, 7, 8, 9, 10)

/** A snapshot of a cluster with a node, a Deployment with a pod on it, a Service and a ConfigMap. */
async function snapshotOf(): Promise<{ readonly bytes: Uint8Array; readonly clusterIP: string | undefined }> {
  const { assembly, ending } = clusterParts({ clock: "real", seed: 1 }, () => undefined)
  const { apiServer } = assembly
  await apiServer.start(ending.signal)
  const client = assembly.clientFor(ADMIN.name, ADMIN.groups)
  const inDefault = (name: string) => ({ name, namespace: "default" })
  const capacity = { cpu: "3", memory: "5Gi", pods: "20" }
  const addresses = [{ type: "InternalIP", address: "192.0.2.7" } as const]
  const node = await client.create(Node, {
    metadata: { name: "prod-1", labels: { zone: "z1", "node-role.kubernetes.io/control-plane": "true" } },
  })
  await client.updateStatus(Node, { ...node, status: { ...node.status, capacity, allocatable: capacity, addresses } })
  const labels = { app: "web" }
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } }
  await client.create(Deployment, {
    metadata: inDefault("web"),
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  })
  const { spec } = await client.create(Service, {
    metadata: inDefault("web"),
    spec: { selector: labels, ports: [{ port: 80 }] },
  })
  await client.create(ConfigMap, { metadata: inDefault("large"), data: { n: "x".repeat(100_000) } })
  const { objects, revision, cluster } = apiServer.image()
  const info = { revision, time: TAKEN, version: "1", node: "prod-1", cluster }
  const files = [{ path: "token", content: Buffer.from("of production") }]
  const parts = await Array.fromAsync(packSnapshot({ info, files, objects: inOrder(objects, realClock) }, "zstd"))
  ending.abort(new Error("the snapshot has been taken"))
  await apiServer.stop()
  return { bytes: Buffer.concat(parts), clusterIP: spec.clusterIP }
}

describe("a cluster that starts from a snapshot", () => {
  test("has the objects and the time of the snapshot, and runs its nodes and pods", async () => {
    // given a snapshot
    const { bytes: snapshot, clusterIP } = await snapshotOf()

    // when a cluster starts from it
    const started = performance.now()
    await using cluster = await startCluster({ snapshot })

    // then time begins when it was taken, and everything is there
    expect(cluster.now.getTime() - TAKEN).toBeLessThan(60_000)
    expect(cluster.nodes).toEqual(["prod-1"])
    expect((await cluster.get(ConfigMap, "large")).data?.n).toHaveLength(100_000)
    expect(performance.now() - started).toBeLessThan(5000)

    // and controllers, scheduler and the simulated node go on
    const [pod] = await cluster.eventually(
      Pod,
      { labels: "app=web" },
      (pods) => pods.length === 1 && isPodReady(pods[0]!),
    )
    expect(pod).toMatchObject({ spec: { nodeName: "prod-1" }, status: { hostIP: "192.0.2.7" } })
    const node = await cluster.get(Node, "prod-1")
    expect(node).toMatchObject({
      metadata: { labels: { zone: "z1" } },
      status: { capacity: { cpu: "3", memory: "5Gi" } },
    })
    expect((await cluster.get(Service, "web")).spec.clusterIP).toBe(clusterIP!)
  })

  test("has the same history with the same seed, and can have additional nodes", async () => {
    const { bytes: snapshot } = await snapshotOf()
    const run = async () => {
      await using cluster = await startCluster({ snapshot, nodes: 1, seed: 3 })
      await cluster.scale(Deployment, "web", 3)
      await cluster.advance("1m")
      expect(cluster.nodes).toEqual(["prod-1", "node-0"])
      return cluster.history(Pod).map(String)
    }
    expect(await run()).toEqual(await run())
  })

  test.each<{ title: string; options: () => Promise<ClusterOptions>; wants: RegExp }>([
    {
      title: "a file that is no snapshot",
      options: () => Promise.resolve({ snapshot: new Uint8Array(100) }),
      wants: /Cannot start a cluster with snapshot: .*its end is missing/,
    },
    {
      title: "a file that does not exist",
      options: () => Promise.resolve({ snapshot: "/there/is/none" }),
      wants: /snapshot: .*\/there\/is\/none/,
    },
    {
      title: "an additional node with the name of a node in the snapshot",
      options: async () => ({ snapshot: (await snapshotOf()).bytes, nodes: [{ name: "prod-1" }] }),
      wants: /the snapshot has one/,
    },
  ])("refuses $title", async ({ options, wants }) => {
    const err = await startCluster(await options()).then(
      () => undefined,
      (cause: unknown) => cause,
    )
    expect(String(err)).toMatch(wants)
  })
})
