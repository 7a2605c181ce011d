import { describe, expect, test } from "bun:test"
import { Node, startCluster } from "../cluster/testing/testing.ts"
import { stepFor } from "./ttl.ts"

const TTL = "node.alpha.kubernetes.io/ttl"

describe("the time for which kubelets may keep what they have read", () => {
  test("is written on each node, and again where somebody changes it", async () => {
    await using cluster = await startCluster({ nodes: 2 })
    const values = async () => (await cluster.list(Node)).map(({ metadata }) => metadata.annotations?.[TTL])
    expect(await values()).toEqual(["0", "0"])
    // when
    await cluster.client.patch(Node, "node-0", {
      type: "merge",
      body: { metadata: { annotations: { [TTL]: "70" } } },
    })
    await cluster.settle()
    // then
    expect(await values()).toEqual(["0", "0"])
  })

  const rows = [
    { title: "stays at none with 100 nodes", before: 0, nodes: 100, wants: 0 },
    { title: "rises with the 101st", before: 0, nodes: 101, wants: 1 },
    { title: "does not fall back with the 100th", before: 1, nodes: 100, wants: 1 },
    { title: "falls back with the 89th", before: 1, nodes: 89, wants: 0 },
    { title: "rises by several steps at once", before: 0, nodes: 5000, wants: 4 },
    { title: "falls by several steps at once", before: 4, nodes: 3, wants: 0 },
  ] as const
  test.each(rows)("$title", ({ before, nodes, wants }) => {
    expect(stepFor(before, nodes)).toBe(wants)
  })
})
