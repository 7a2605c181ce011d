import { expect, test } from "bun:test"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"

test("a ReplicaSet that a rollback used again is kept, and one of a lower revision goes", async () => {
  // given a Deployment that keeps one old ReplicaSet
  await using cluster = await startCluster({ nodes: 1 })
  const { client } = cluster
  const roll = async (image: string) => {
    const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } }
    await cluster.apply([
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: { replicas: 1, revisionHistoryLimit: 1, selector: { matchLabels: { app: "web" } }, template },
      },
    ])
    await cluster.advance("10s")
  }
  // when it goes on, back, and on again
  for (const image of ["web:1", "web:2", "web:1", "web:3"]) await roll(image)
  // then what it ran before is kept, although it is the oldest
  const sets = (await client.list(ReplicaSet, { namespace: "default" })).items
  const images = sets.map(({ spec }) => spec.template.spec.containers[0]!.image)
  expect(new Set(images)).toEqual(new Set(["web:1", "web:3"]))
  const undo = await cluster.kubectl("rollout undo deployment/web")
  expect(undo.stderr).toBe("")
  const { spec } = await client.get(Deployment, { name: "web", namespace: "default" })
  expect(spec.template.spec.containers[0]!.image).toBe("web:1")
})
