import { expect, test } from "bun:test"
import { Node, startCluster } from "../testing.ts"

test("dozens of nodes start in groups, one group after the other, at the same instant", async () => {
  // given
  await using cluster = await startCluster({ nodes: 45, seed: 1 })
  // then all are ready, in their order
  const nodes = await cluster.list(Node)
  expect(cluster.nodes).toEqual(Array.from({ length: 45 }, (_, i) => `node-${i}`))
  expect(
    nodes.every(({ status }) => status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")),
  ).toBe(true)
  expect(new Set(nodes.map(({ metadata }) => metadata.creationTimestamp)).size).toBe(1)
  // and the last group began when the first nodes were there
  const first = (kind: string, name: string) =>
    cluster.history().find(({ object }) => object.kind === kind && object.metadata.name === name)!.revision
  expect(first("Node", "node-19")).toBeLessThan(first("Lease", "node-20"))
  expect(first("Node", "node-39")).toBeLessThan(first("Lease", "node-40"))
})
