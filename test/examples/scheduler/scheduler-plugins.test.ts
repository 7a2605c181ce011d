/** How to test a plugin of the scheduler: in a cluster in memory, where a minute takes no time. */
import { describe, expect, test } from "bun:test"
import { Node, Pod, startCluster, type Cluster } from "k3ts/testing"
import gangs from "./gangs.ts"
import gpuSpread from "./gpu-spread.ts"

const podOf = (
  name: string,
  { gpus = 0, ...metadata }: { gpus?: number; labels?: object; annotations?: object } = {},
) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: {
    containers: [
      { name: "c", image: "web", ...(gpus === 0 ? {} : { resources: { limits: { "example.com/gpu": `${gpus}` } } }) },
    ],
  },
})
const nodeOf = async (cluster: Cluster, name: string) =>
  (await cluster.client.get(Pod, { name, namespace: "default" })).spec.nodeName

describe("GpuSpread", () => {
  /** Nodes with four GPUs each, and drivers of the versions. */
  async function withGpus(...drivers: readonly number[]) {
    const cluster = await startCluster({
      nodes: drivers.map((driver) => ({ labels: { "example.com/driver": `${driver}` } })),
      schedulerPlugins: [gpuSpread],
      schedulerConfig: {
        apiVersion: "kubescheduler.config.k8s.io/v1",
        kind: "KubeSchedulerConfiguration",
        profiles: [{ pluginConfig: [{ name: "GpuSpread", args: { minDriver: 500 } }] }],
      },
    })
    const amounts = { "example.com/gpu": "4" }
    const body = { status: { capacity: amounts, allocatable: amounts } }
    for (const name of cluster.nodes)
      await cluster.client.patch(Node, { name }, { type: "merge", body }, { subresource: "status" })
    return cluster
  }

  test("puts pods on the node with the most free GPUs", async () => {
    await using cluster = await withGpus(550, 550)
    await cluster.apply(podOf("large", { gpus: 3 }))
    await cluster.advance("1s")
    await cluster.apply([podOf("small", { gpus: 1 }), podOf("none")])
    await cluster.advance("1s")
    expect(await nodeOf(cluster, "small")).not.toBe(await nodeOf(cluster, "large"))
  })

  test("keeps pods of one job apart, and tries one again when there is room", async () => {
    await using cluster = await withGpus(550, 550, 400)
    const labels = { "example.com/job": "train" }
    await cluster.apply(["a", "b", "c"].map((name) => podOf(name, { gpus: 1, labels })))
    await cluster.advance("1s")
    const nodes = await Promise.all(["a", "b", "c"].map((name) => nodeOf(cluster, name)))
    expect(nodes.filter((node) => node !== undefined).toSorted()).toEqual(["node-0", "node-1"])
    const waiting = ["a", "b", "c"][nodes.indexOf(undefined)]!
    const { status } = await cluster.client.get(Pod, { name: waiting, namespace: "default" })
    expect(status.conditions?.[0]?.message).toStartWith(
      "0/3 nodes are available: 1 node(s) had a GPU driver that is too old, 2 node(s) had a pod of the same job.",
    )
    await cluster.kubectl("label node node-2 --overwrite example.com/driver=550")
    await cluster.advance("15s")
    expect(await nodeOf(cluster, waiting)).toBe("node-2")
  })
})

test("Gangs binds pods of a gang together, and gives their nodes back after a minute", async () => {
  await using cluster = await startCluster({ nodes: 1, schedulerPlugins: [gangs] })
  const member = (name: string) =>
    podOf(name, { labels: { "example.com/gang": "g" }, annotations: { "example.com/gang-size": "3" } })
  await cluster.apply([member("a"), member("b"), podOf("alone")])
  await cluster.advance("30s")
  expect([await nodeOf(cluster, "a"), await nodeOf(cluster, "alone")]).toEqual([undefined, "node-0"])
  // Both have given their node back, and have it again.
  await cluster.advance("2m")
  await cluster.apply(member("c"))
  await cluster.advance("2s")
  expect(await Promise.all(["a", "b", "c"].map((name) => nodeOf(cluster, name)))).toEqual([
    "node-0",
    "node-0",
    "node-0",
  ])
})
