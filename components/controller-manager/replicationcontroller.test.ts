import { expect, test } from "bun:test"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ReplicationController } from "../../pkg/api/core/v1/replicationcontroller.ts"
import { startCluster } from "../cluster/testing/cluster.ts"

test("keeps its number of pods, adopts one that matches and releases one that no longer matches", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const { client } = cluster
  const namespace = "default"
  const spec = { containers: [{ name: "main", image: "web" }] }
  await client.create(Pod, { metadata: { name: "stray", namespace, labels: { app: "web" } }, spec })
  await client.create(ReplicationController, {
    metadata: { name: "web", namespace },
    spec: { replicas: 3, selector: { app: "web" }, template: { metadata: { labels: { app: "web" } }, spec } },
  })
  await cluster.settle()
  const pods = async () => (await client.list(Pod, { namespace, labelSelector: "app=web" })).items
  expect(await pods()).toHaveLength(3)
  expect((await pods()).map(({ metadata }) => metadata.ownerReferences?.[0]?.kind)).toEqual([
    "ReplicationController",
    "ReplicationController",
    "ReplicationController",
  ])
  expect((await client.get(ReplicationController, { name: "web", namespace })).status).toMatchObject({
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    fullyLabeledReplicas: 3,
  })
  // when
  await client.patch(
    Pod,
    { name: "stray", namespace },
    { type: "merge", body: { metadata: { labels: { app: "other" } } } },
  )
  await cluster.settle()
  // then
  expect(await pods()).toHaveLength(3)
  expect((await client.get(Pod, { name: "stray", namespace })).metadata.ownerReferences ?? []).toEqual([])
})
