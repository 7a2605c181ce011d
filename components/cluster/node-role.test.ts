import { expect, test } from "bun:test"
import { Node, Secret, startCluster } from "./testing/testing.ts"

test("the component that labels nodes with their role has rights on nodes only", async () => {
  await using cluster = await startCluster({ seed: 1, nodes: 1 })
  const part = cluster.as("system:k3ts-node-role")
  const [{ metadata }] = (await part.list(Node)).items as [Node]
  // when it labels the node
  const body = { metadata: { labels: { "node-role.kubernetes.io/control-plane": "true" } } }
  await part.patch(Node, { name: metadata.name }, { type: "merge", body })
  // then it may do nothing else
  const refused = { reason: "Forbidden" }
  await expect(part.list(Secret)).rejects.toMatchObject(refused)
  await expect(part.delete(Node, { name: metadata.name })).rejects.toMatchObject(refused)
})
