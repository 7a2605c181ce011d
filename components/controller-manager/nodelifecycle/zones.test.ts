import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"
import type { NodeOptions } from "../../cluster/testing/options/node-spec.ts"
import { metricsOf, web } from "../../cluster/testing/cluster.fixtures.ts"

const names = (first: number, count: number) => Array.from({ length: count }, (_, i) => `node-${first + i}`)
const inZone = (zone: string, count: number): NodeOptions[] =>
  Array.from({ length: count }, (_, i) => ({
    name: `${zone}-${i}`,
    labels: { "topology.kubernetes.io/zone": zone },
  }))
const lose = (cluster: Cluster, nodes: readonly string[]) =>
  Promise.all(nodes.map((node) => cluster.faults.nodeLost(node)))
const moveTo = (cluster: Cluster, name: string, zone: string) =>
  cluster.client.patch(
    Node,
    { name },
    { type: "merge", body: { metadata: { labels: { "topology.kubernetes.io/zone": zone } } } },
  )
const hasEffect = async (cluster: Cluster, effect: string) =>
  (await cluster.list(Node)).flatMap(({ metadata, spec }) => {
    const taint = (spec.taints ?? []).find((one) => one.effect === effect)
    return taint === undefined ? [] : [{ node: metadata.name!, at: Date.parse(taint.timeAdded!) }]
  })
/** Seconds from the first taint with the effect NoExecute to each one. */
async function pace(cluster: Cluster): Promise<readonly number[]> {
  const times = (await hasEffect(cluster, "NoExecute")).map(({ at }) => at).sort((a, b) => a - b)
  return times.map((at) => (at - times[0]!) / 1000)
}
const uids = async (cluster: Cluster) => new Set((await cluster.list(Pod)).map(({ metadata }) => metadata.uid))
const evicting = async (cluster: Cluster) => (await hasEffect(cluster, "NoExecute")).map(({ node }) => node).sort()
const avoided = async (cluster: Cluster) => (await hasEffect(cluster, "NoSchedule")).map(({ node }) => node).sort()

describe("nodes that are lost together get NoExecute taints", () => {
  test.each([
    { of: 2, lost: 1, seconds: [0] },
    { of: 3, lost: 2, seconds: [0, 10] },
    { of: 9, lost: 4, seconds: [0, 10, 20, 30] },
    { of: 6, lost: 3, seconds: [0, 10, 20] },
    { of: 5, lost: 3, seconds: [] },
    { of: 9, lost: 5, seconds: [] },
    { of: 50, lost: 30, seconds: [] },
    { of: 60, lost: 32, seconds: Array.from({ length: 32 }, (_, i) => 10 * i) },
    { of: 60, lost: 33, seconds: [0, 100, 200, 300] },
    { of: 51, lost: 30, seconds: [0, 100, 200, 300] },
  ])("$lost of $of: after the seconds $seconds", async ({ of, lost, seconds }) => {
    // given
    await using cluster = await startCluster({ nodes: of })
    await cluster.advance("1m")
    // when
    await lose(cluster, names(0, lost))
    await cluster.advance("7m")
    // then all of them are avoided, and evicted from in that rhythm
    expect(await avoided(cluster)).toHaveLength(lost)
    expect(await pace(cluster)).toEqual(seconds)
  })
})

describe("where no node is ready", () => {
  test.each([1, 2, 3])("no pod of %d nodes is evicted", async (count) => {
    // given pods on all nodes
    await using cluster = await startCluster({ nodes: count })
    await cluster.apply(web(3))
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 3)
    const before = await uids(cluster)
    // when
    const faults = await lose(cluster, names(0, count))
    await cluster.advance("1h")
    // then
    expect([await avoided(cluster), await evicting(cluster)]).toEqual([names(0, count), []])
    expect(await uids(cluster)).toEqual(before)
    expect((await cluster.list(Pod)).every(({ metadata }) => metadata.deletionTimestamp === undefined)).toBe(true)
    // and when they are back they have no taints, and the pods run on
    for (const fault of faults) await fault.end()
    await cluster.eventually(async () => (await avoided(cluster)).length === 0, { within: "1m" })
    await cluster.advance("10m")
    expect(await uids(cluster)).toEqual(before)
  })

  test("taints that the first lost nodes have got are removed, and their pods stay", async () => {
    // given two of three nodes that are evicted from, but whose pods still tolerate that
    await using cluster = await startCluster({ nodes: 3 })
    await cluster.apply(web(6))
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 6)
    await lose(cluster, ["node-0", "node-1"])
    await cluster.advance("2m")
    expect(await evicting(cluster)).toEqual(["node-0", "node-1"])
    // when the third is lost
    await lose(cluster, ["node-2"])
    await cluster.advance("1h")
    // then
    expect(await evicting(cluster)).toEqual([])
    expect((await cluster.list(Pod)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
  })

  test("eviction begins some time after the first node is back", async () => {
    // given
    await using cluster = await startCluster({ nodes: 3 })
    const [, , last] = await lose(cluster, names(0, 3))
    await cluster.advance("10m")
    // when
    await last!.end()
    await cluster.eventually(async () => (await avoided(cluster)).length === 2, { within: "1m" })
    const back = cluster.now.getTime()
    await cluster.advance("1m")
    // then one node follows the other, after an interval in which they too may come back
    expect(await evicting(cluster)).toEqual(["node-0", "node-1"])
    const first = Math.min(...(await hasEffect(cluster, "NoExecute")).map(({ at }) => at))
    expect((first - back) / 1000).toBeWithin(9, 16)
    expect(await pace(cluster)).toEqual([0, 10])
  })
})

describe("a zone of which most nodes are lost", () => {
  test("keeps the taints that it has, gets no more, and gets them after a node is back", async () => {
    // given five nodes of which three are lost, one after the other
    await using cluster = await startCluster({ nodes: 5 })
    await lose(cluster, ["node-0"])
    await cluster.advance("2m")
    const faults = await lose(cluster, ["node-1", "node-2"])
    await cluster.advance("10m")
    expect([await avoided(cluster), await evicting(cluster)]).toEqual([names(0, 3), ["node-0"]])
    // when one of them is back
    await faults[0]!.end()
    await cluster.advance("2m")
    // then
    expect([await avoided(cluster), await evicting(cluster)]).toEqual([
      ["node-0", "node-2"],
      ["node-0", "node-2"],
    ])
  })

  test("counts without the nodes that are excluded by their label", async () => {
    // given
    await using cluster = await startCluster({
      nodes: [
        { name: "node-0" },
        { name: "node-1" },
        { name: "edge", labels: { "node.kubernetes.io/exclude-disruption": "" } },
      ],
    })
    // when
    await lose(cluster, ["node-0", "node-1"])
    await cluster.advance("10m")
    // then no node that counts is ready
    expect([await avoided(cluster), await evicting(cluster)]).toEqual([["node-0", "node-1"], []])
  })
})

describe("of two zones", () => {
  test("one that is lost is evicted from, at its own rate", async () => {
    // given
    await using cluster = await startCluster({ nodes: [...inZone("a", 3), ...inZone("b", 3)] })
    // when
    await lose(cluster, ["a-0", "a-1", "a-2", "b-0"])
    await cluster.advance("5m")
    // then
    expect(await evicting(cluster)).toEqual(["a-0", "a-1", "a-2", "b-0"])
    expect(await pace(cluster)).toEqual([0, 0, 10, 20])
  })

  test("both that are lost are not, until one is back", async () => {
    // given one zone that is evicted from
    await using cluster = await startCluster({ nodes: [...inZone("a", 3), ...inZone("b", 3)] })
    await lose(cluster, ["a-0", "a-1", "a-2"])
    await cluster.advance("2m")
    expect(await evicting(cluster)).toHaveLength(3)
    // when the other is lost
    const faults = await lose(cluster, ["b-0", "b-1", "b-2"])
    await cluster.advance("1h")
    // then
    expect(await evicting(cluster)).toEqual([])
    // and when it is back
    for (const fault of faults) await fault.end()
    await cluster.advance("2m")
    expect(await evicting(cluster)).toEqual(["a-0", "a-1", "a-2"])
  })
})

test("a taint that somebody removes comes back", async () => {
  // given
  await using cluster = await startCluster({ nodes: 2 })
  await lose(cluster, ["node-0"])
  await cluster.advance("2m")
  // when
  await cluster.client.patch(Node, { name: "node-0" }, { type: "merge", body: { spec: { taints: [] } } })
  await cluster.settle()
  // then
  await cluster.advance("20s")
  expect(await evicting(cluster)).toEqual(["node-0"])
})

test("controllers that start while a node is lost let its pods have their whole time again", async () => {
  // given a node whose taint is four minutes old
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.apply(web(4))
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 4)
  await lose(cluster, ["node-0"])
  await cluster.advance("5m")
  const controllers = await cluster.faults.crashed("controller-manager")
  // when
  await controllers.end()
  const began = cluster.now.getTime()
  await cluster.advance("1m")
  // then
  const [taint] = await hasEffect(cluster, "NoExecute")
  expect((taint!.at - began) / 1000).toBeWithin(0, 6)
})

test("a node that is deleted while it waits for its taint delays no other one", async () => {
  // given
  await using cluster = await startCluster({ nodes: 9 })
  await lose(cluster, names(0, 4))
  await cluster.eventually(async () => (await evicting(cluster)).length === 1)
  // when
  await cluster.client.delete(Node, { name: "node-1" })
  await cluster.advance("5m")
  // then
  expect(await evicting(cluster)).toEqual(["node-0", "node-2", "node-3"])
  expect(await pace(cluster)).toEqual([0, 10, 20])
})

test("a lost node that moves to a zone of which most nodes are lost waits with them", async () => {
  // given
  await using cluster = await startCluster({ nodes: [...inZone("a", 3), ...inZone("b", 5)] })
  await lose(cluster, ["a-0", "a-1", "b-0", "b-1", "b-2"])
  await cluster.eventually(async () => (await evicting(cluster)).length === 1)
  // when
  await moveTo(cluster, "a-1", "b")
  await cluster.advance("5m")
  // then
  expect(await evicting(cluster)).toEqual(["a-0"])
})

test("a node that was evicted from and is lost again waits for its turn", async () => {
  // given
  await using cluster = await startCluster({ nodes: 9 })
  const [last] = await lose(cluster, ["node-8"])
  await cluster.advance("2m")
  expect(await evicting(cluster)).toEqual(["node-8"])
  await last!.end()
  await cluster.advance("2m")
  // when it is lost with others
  await lose(cluster, ["node-0", "node-1", "node-8"])
  await cluster.advance("5m")
  // then
  expect(await pace(cluster)).toEqual([0, 10, 20])
})

test("a zone that stays lost when a new zone has its first node is not evicted from", async () => {
  // given
  await using cluster = await startCluster({ nodes: inZone("a", 2) })
  await lose(cluster, ["a-0", "a-1"])
  await cluster.advance("5m")
  // when
  await cluster.addNode(inZone("b", 1)[0])
  await cluster.advance("5m")
  // then
  expect([await avoided(cluster), await evicting(cluster)]).toEqual([["a-0", "a-1"], []])
})

const zonesIn = async (cluster: Cluster) => [
  ...new Set([...(await metricsOf(cluster)).matchAll(/^node_collector_.*zone="(.*)"/gm)].map(([, zone]) => zone)),
]

test("metrics tell of each zone how many nodes it has, are lost and were tainted", async () => {
  // given
  await using cluster = await startCluster({ nodes: [...inZone("a", 4), ...inZone("b", 1)] })
  // when
  await lose(cluster, ["a-0"])
  await cluster.advance("5m")
  // then
  const lines = (await metricsOf(cluster)).split("\n").filter((line) => line.startsWith("node_collector_"))
  expect(lines.sort()).toEqual([
    'node_collector_evictions_total{zone=":\0:a"} 1',
    'node_collector_evictions_total{zone=":\0:b"} 0',
    'node_collector_unhealthy_nodes_in_zone{zone=":\0:a"} 1',
    'node_collector_unhealthy_nodes_in_zone{zone=":\0:b"} 0',
    'node_collector_zone_health{zone=":\0:a"} 75',
    'node_collector_zone_health{zone=":\0:b"} 100',
    'node_collector_zone_size{zone=":\0:a"} 4',
    'node_collector_zone_size{zone=":\0:b"} 1',
  ])
  // and of zones without nodes nothing
  await moveTo(cluster, "b-0", "a")
  await cluster.advance("1m")
  expect(await zonesIn(cluster)).toEqual([":\0:a"])
})
