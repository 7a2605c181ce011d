import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
import { DEFAULT_TUNING } from "./tuning.ts"
import { nodeResources } from "./capacity.ts"

const Mi = 2 ** 20
const machine = { cpus: 2, memoryBytes: 1024 * Mi, hugepages: {} }
const disk = { capacityBytes: 10_000 }

describe("the capacity of a node", () => {
  const rows = [
    { title: "a round number of bytes", bytes: 8192 * Mi, memory: "8Gi", allocatable: "8092Mi" },
    {
      title: "the memory of a real machine",
      bytes: 24_683_656 * 1024,
      memory: "24683656Ki",
      allocatable: "24581256Ki",
    },
    {
      title: "a number that is no multiple of 1024",
      bytes: 200 * Mi + 1,
      memory: "209715201",
      allocatable: "104857601",
    },
    { title: "less than the reserved amount", bytes: 50 * Mi, memory: "50Mi", allocatable: "0" },
  ]
  test.each(rows)("is formatted as by Kubernetes: $title", ({ bytes, memory, allocatable }) => {
    const found = nodeResources({
      machine: { ...machine, memoryBytes: bytes },
      disk,
      maxPods: 110,
      tuning: DEFAULT_TUNING,
      before: {},
    })
    expect(found.capacity).toEqual({ cpu: "2", pods: "110", memory, "ephemeral-storage": "10000" })
    expect(found.allocatable).toEqual({ cpu: "2", pods: "110", memory: allocatable, "ephemeral-storage": "9500" })
  })

  test("has reserved resources subtracted from allocatable ones, and the configured hard eviction thresholds too", () => {
    const tuning = {
      eviction: {
        hard: { "memory.available": { fraction: 0.25 }, "nodefs.available": { count: 1000 } },
        soft: { "memory.available": { amount: { fraction: 0.5 }, graceMs: 1000 } },
        mostGraceSeconds: 0,
        transitionMs: 0,
      },
      reserved: { cpuMilli: 150, memoryBytes: 68 * Mi, diskBytes: 500 },
    }
    const found = nodeResources({ machine, disk, maxPods: 110, tuning, before: {} })
    expect(found.allocatable).toEqual({ cpu: "1850m", pods: "110", memory: "700Mi", "ephemeral-storage": "8500" })
    expect(found.capacity).toEqual({ cpu: "2", pods: "110", memory: "1Gi", "ephemeral-storage": "10000" })
  })

  test("has huge pages subtracted from allocatable memory", () => {
    const found = nodeResources({
      machine: { ...machine, hugepages: { "2Mi": 100 * Mi } },
      disk,
      maxPods: 110,
      tuning: DEFAULT_TUNING,
      before: {},
    })
    expect(found.capacity).toMatchObject({ memory: "1Gi", "hugepages-2Mi": "100Mi" })
    expect(found.allocatable).toMatchObject({ memory: "824Mi", "hugepages-2Mi": "100Mi" })
  })

  const others = [
    {
      title: "an extended resource that another client added to the capacity",
      capacity: { "example.com/gpu": "2" },
      allocatable: {},
      expected: { capacity: { "example.com/gpu": "2" }, allocatable: { "example.com/gpu": "2" } },
    },
    {
      title: "an extended resource that was removed",
      capacity: {},
      allocatable: { "example.com/gpu": "2" },
      expected: { capacity: {}, allocatable: {} },
    },
    {
      title: "huge pages of a size that the machine does not have",
      capacity: { "hugepages-1Gi": "1Gi" },
      allocatable: { "hugepages-1Gi": "1Gi" },
      expected: { capacity: {}, allocatable: {} },
    },
    {
      title: "an amount of memory other than the machine's",
      capacity: { memory: "1" },
      allocatable: { memory: "1" },
      expected: { capacity: { memory: "1Gi" }, allocatable: { memory: "924Mi" } },
    },
  ]
  test.each(others)("respects changes of others: $title", ({ capacity, allocatable, expected }) => {
    const own = nodeResources({ machine, disk, maxPods: 110, tuning: DEFAULT_TUNING, before: {} })
    expect(
      nodeResources({ machine, disk, maxPods: 110, tuning: DEFAULT_TUNING, before: { capacity, allocatable } }),
    ).toEqual({
      capacity: { ...own.capacity, ...expected.capacity },
      allocatable: { ...own.allocatable, ...expected.allocatable },
    })
  })
})

test(
  "pods can use an extended resource of a node ten seconds after it was added by a patch, until it is " + "taken out",
  async () => {
    // given a node and its kubelet
    await using node = await simulatedKubelet({})
    const { cluster } = node
    const device = "example.com/device"
    const amounts = async () => {
      const { capacity = {}, allocatable = {} } = (await cluster.get(Node, "node-0")).status
      return [capacity[device], allocatable[device]]
    }
    const patch = (amount: string | null) =>
      cluster.client.patch(
        Node,
        { name: "node-0" },
        { type: "merge", body: { status: { capacity: { [device]: amount } } } },
        { subresource: "status" },
      )
    // when
    await patch("3")
    await cluster.advance("10s")
    // then
    expect(await amounts()).toEqual(["3", "3"])
    // and pods may have it, but no more than there is
    const asking = { containers: [{ name: "c", image: "web", resources: { limits: { [device]: "2" } } }] }
    await node.create("a", asking)
    await node.create("b", asking)
    expect([node.status("a").phase, node.status("b").reason]).toEqual(["Running", `OutOf${device}`])
    // and it stays over a restart of the kubelet and the reports that follow
    await node.restart()
    await cluster.advance("20m")
    expect(await amounts()).toEqual(["3", "3"])
    // until somebody takes it out
    await patch(null)
    await cluster.advance("10s")
    expect(await amounts()).toEqual([undefined, undefined])
  },
)

test("a node that another client has marked as not ready is ready again after ten seconds", async () => {
  // given
  await using node = await simulatedKubelet({})
  const { cluster } = node
  const ready = async () =>
    (await cluster.get(Node, "node-0")).status.conditions!.find(({ type }) => type === "Ready")?.status
  // when
  await cluster.client.patch(
    Node,
    { name: "node-0" },
    { type: "strategic", body: { status: { conditions: [{ type: "Ready", status: "Unknown" }] } } },
    { subresource: "status" },
  )
  expect(await ready()).toBe("Unknown")
  await cluster.advance("10s")
  // then
  expect(await ready()).toBe("True")
})

test("the status of an unchanged node is written every five minutes, even if others change its labels", async () => {
  // given
  await using node = await simulatedKubelet({})
  const { cluster } = node
  const writes = () => cluster.history({ kind: "Node" }).length
  await cluster.advance("10s")
  const before = writes()
  // when
  await cluster.client.patch(Node, { name: "node-0" }, { type: "merge", body: { metadata: { labels: { a: "b" } } } })
  await cluster.advance("4m")
  // then the label is the one write
  expect(writes() - before).toBe(1)
  await cluster.advance("2m")
  expect(writes() - before).toBe(2)
})
