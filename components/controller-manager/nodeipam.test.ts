import { expect, test } from "bun:test"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { startCluster } from "../cluster/testing/testing.ts"

/** Starts a cluster without kubelets, which would create deleted Nodes again. */
const cluster = () => startCluster({ nodes: 3, components: { kubelet: false } })

test("a new node gets the first free range; ranges of deleted nodes are free, and those that a user has set are not", async () => {
  // given three nodes
  await using started = await cluster()
  const { client } = started
  const ranges = async () =>
    Object.fromEntries((await client.list(Node)).items.map(({ metadata, spec }) => [metadata.name, spec.podCIDR]))
  expect(await ranges()).toEqual({
    "node-0": "10.42.0.0/24",
    "node-1": "10.42.1.0/24",
    "node-2": "10.42.2.0/24",
  })
  // when one goes, another comes with a range that a person gave, and two come without
  await client.delete(Node, { name: "node-1" })
  const given = { podCIDR: "10.42.3.0/24", podCIDRs: ["10.42.3.0/24"] }
  await client.create(Node, { metadata: { name: "given" }, spec: given })
  await client.create(Node, { metadata: { name: "x" } })
  await client.create(Node, { metadata: { name: "y" } })
  await started.settle()
  // then
  expect(await ranges()).toEqual({
    "node-0": "10.42.0.0/24",
    "node-2": "10.42.2.0/24",
    given: "10.42.3.0/24",
    x: "10.42.1.0/24",
    y: "10.42.4.0/24",
  })
})

test("nodes that come together get different ranges, also one whose first patches are refused", async () => {
  // given three nodes, and an API that refuses the ranges of one more
  await using started = await cluster()
  const { client } = started
  await using refused = await started.faults.requests({
    verb: "patch",
    resource: "nodes",
    name: "refused",
    error: "InternalError",
  })
  // when it comes with many others
  const names = ["refused", ...Array.from({ length: 50 }, (_, i) => `new-${i}`)]
  await Promise.all(names.map((name) => client.create(Node, { metadata: { name } })))
  await started.settle()
  await client.create(Node, { metadata: { name: "last" } })
  await refused.end()
  await started.advance("1m")
  // then all have one, and no two the same
  const ranges = (await client.list(Node)).items.map(({ spec }) => spec.podCIDR)
  expect(new Set(ranges).size).toBe(names.length + 4)
  expect(ranges).not.toContain(undefined)
  expect(ranges).toContain("10.42.3.0/24")
})

test("a node whose patch has no answer keeps its range, which no other node gets, until it is deleted", async () => {
  // given a node whose range the API does not write
  await using started = await cluster()
  const { client } = started
  const fault = { verb: "patch", resource: "nodes", name: "slow", error: "Timeout" } as const
  const unanswered = await started.faults.requests(fault)
  await client.create(Node, { metadata: { name: "slow" } })
  await started.settle()
  // when another comes meanwhile
  await client.create(Node, { metadata: { name: "other" } })
  await started.settle()
  const rangeOf = async (name: string) => (await client.get(Node, { name })).spec.podCIDR
  expect(await rangeOf("other")).toBe("10.42.4.0/24")
  // then the first gets the range that was kept for it
  await unanswered.end()
  await started.advance("1m")
  expect(await rangeOf("slow")).toBe("10.42.3.0/24")
  // and when one that never showed its range is deleted, the range is free
  await using _again = await started.faults.requests(fault)
  await client.delete(Node, { name: "slow" })
  await client.create(Node, { metadata: { name: "slow" } })
  await started.settle()
  await client.delete(Node, { name: "slow" })
  await client.create(Node, { metadata: { name: "next" } })
  await started.settle()
  expect(await rangeOf("next")).toBe("10.42.3.0/24")
})
