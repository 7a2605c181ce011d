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

test("nodes that come together get different ranges, and the range of a refused patch goes to another", async () => {
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
