import { expect, test } from "bun:test"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { startController } from "../../pkg/controller/start.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { podGarbageCollector } from "./podgc.ts"

test.each([
  [2, ["p2", "p3"]],
  [0, ["p0", "p1", "p2", "p3"]],
])("with a threshold of %d ended pods the newest of these stay: %p", async (kept, names) => {
  // given four pods that ended one after the other
  await using cluster = await startCluster({
    admission: { disabled: ["ServiceAccount"] },
    components: { controllers: false },
    nodes: 0,
  })
  const { client } = cluster
  await client.create(Node, { metadata: { name: "node-1" } })
  for (const name of ["p0", "p1", "p2", "p3"]) {
    const pod = await client.create(Pod, {
      metadata: { namespace: "default", name },
      spec: { nodeName: "node-1", containers: [{ name: "c", image: "x" }], restartPolicy: "Never" },
    })
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: "Succeeded" } })
    await cluster.advance("1s")
  }
  // when
  const context = cluster.contextFor("system:serviceaccount:kube-system:test", ["system:masters"])
  const controller = await startController(podGarbageCollector(kept), context)
  await client.patch(
    Pod,
    { namespace: "default", name: "p3" },
    { type: "merge", body: { metadata: { labels: { a: "b" } } } },
  )
  await cluster.settle()
  // then
  const { items } = await client.list(Pod)
  expect(
    items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(({ metadata }) => metadata.name!),
  ).toEqual(names)
  await controller.stop()
})
