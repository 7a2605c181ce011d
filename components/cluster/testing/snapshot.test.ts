import { describe, expect, test } from "bun:test"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { productionSnapshot, TAKEN } from "./snapshot.fixtures.ts"
import { ConfigMap, Deployment, Node, Pod, Service, startCluster, type ClusterOptions } from "./testing.ts"

describe("a cluster that starts from a snapshot", () => {
  test("has the objects and the time of the snapshot, and runs its nodes and pods", async () => {
    // given a snapshot
    const { bytes: snapshot, clusterIP } = await productionSnapshot()

    // when a cluster starts from it
    const started = process.cpuUsage()
    await using cluster = await startCluster({ snapshot })

    // then time begins when it was taken, and everything is there
    expect(cluster.now.getTime() - TAKEN).toBeLessThan(60_000)
    expect(cluster.nodes).toEqual(["prod-1"])
    expect((await cluster.get(ConfigMap, "large")).data?.n).toHaveLength(100_000)
    const { user, system } = process.cpuUsage(started)
    expect((user + system) / 1000).toBeLessThan(5000)

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
    const { bytes: snapshot } = await productionSnapshot()
    const run = async () => {
      await using cluster = await startCluster({ snapshot, nodes: 1, seed: 3 })
      await cluster.scale(Deployment, "web", 3)
      await cluster.advance("1m")
      expect(cluster.nodes).toEqual(["prod-1", "node-0"])
      return cluster.history(Pod).map(String)
    }
    expect(await run()).toEqual(await run())
  })

  test("can be started from a test cluster, and then goes a way of its own", async () => {
    // given a cluster in the middle of its work
    await using first = await startCluster({ nodes: 2 })
    await first.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } },
      },
    })
    await first.advance("3d")
    // when
    await using second = await startCluster({ snapshot: await first.snapshot() })
    // then it begins with the same nodes, objects and time
    expect(second.now.getTime() - first.now.getTime()).toBeLessThan(60_000)
    expect(second.nodes.toSorted()).toEqual(first.nodes.toSorted())
    await second.eventually(Pod, { labels: "app=web" }, (pods) => pods.length === 2 && pods.every(isPodReady))
    // and what it does later is its own
    await second.scale(Deployment, "web", 5)
    await second.eventually(Pod, { labels: "app=web" }, (pods) => pods.length === 5)
    expect(await first.list(Pod, { labels: "app=web" })).toHaveLength(2)
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
      options: async () => ({ snapshot: (await productionSnapshot()).bytes, nodes: [{ name: "prod-1" }] }),
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
