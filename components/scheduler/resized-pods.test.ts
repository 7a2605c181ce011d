import { expect, test } from "bun:test"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster } from "../cluster/testing/testing.ts"

const asking = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] })
const create = async (cluster: Cluster, name: string, cpu: string) => {
  await cluster.client.create(Pod, { metadata: { name, namespace: "default" }, spec: asking(cpu) })
  await cluster.settle()
}
const nodeOf = async (cluster: Cluster, name: string) => (await cluster.get(Pod, name)).spec.nodeName

/** Writes what the kubelet says of a pod: its container has so much CPU, and was allocated the same. */
async function tell(cluster: Cluster, name: string, cpu: string, conditions: readonly object[] = []) {
  const pod = await cluster.get(Pod, name)
  const container = { name: "c", resources: { requests: { cpu } }, allocatedResources: { cpu }, ...RUNNING }
  const status = { observedGeneration: pod.metadata.generation, containerStatuses: [container], conditions }
  await cluster.client.patch(Pod, pod.metadata, { type: "merge", body: { status } }, { subresource: "status" })
  await cluster.settle()
}
const RUNNING = { ready: true, restartCount: 0, image: "i", imageID: "", state: {}, lastState: {} }

const resize = async (cluster: Cluster, name: string, cpu: string) => {
  const pod = { name, namespace: "default" }
  await cluster.client.patch(Pod, pod, { type: "strategic", body: { spec: asking(cpu) } }, { subresource: "resize" })
  await cluster.settle()
}

test("what a pod no longer requests is free when its node has taken it away, and what it cannot get stays free", async () => {
  // given a node without a kubelet, and a pod that has 3 of its 4 cores
  await using cluster = await startCluster({ nodes: [{ capacity: { cpu: 4 } }], components: { kubelet: false } })
  await create(cluster, "large", "3")
  await tell(cluster, "large", "3")
  // when it is to have less, and the kubelet has not seen that
  await resize(cluster, "large", "1")
  await create(cluster, "next", "2")
  // then
  expect(await nodeOf(cluster, "next")).toBeUndefined()
  // and while the kubelet cannot take it away
  await tell(cluster, "large", "3", [{ type: "PodResizeInProgress", status: "True", reason: "Error" }])
  await cluster.advance("1m")
  expect(await nodeOf(cluster, "next")).toBeUndefined()
  // and when it has
  await tell(cluster, "large", "1")
  await cluster.advance("10s")
  expect(await nodeOf(cluster, "next")).toBe("node-0")
  // and what a pod wants in vain is not counted
  await resize(cluster, "large", "4")
  await tell(cluster, "large", "1", [{ type: "PodResizePending", status: "True", reason: "Infeasible" }])
  await create(cluster, "last", "1")
  expect(await nodeOf(cluster, "last")).toBe("node-0")
})

test("what a pod as a whole still has is counted while it shrinks", async () => {
  await using cluster = await startCluster({ nodes: [{ capacity: { cpu: 4 } }], components: { kubelet: false } })
  const declaredFeatures = ["InPlacePodLevelResourcesVerticalScaling"]
  await cluster.client.patch(
    Node,
    { name: "node-0" },
    { type: "merge", body: { status: { declaredFeatures } } },
    { subresource: "status" },
  )
  const spec = { ...asking("1"), resources: { requests: { cpu: "3" } } }
  await cluster.client.create(Pod, { metadata: { name: "large", namespace: "default" }, spec })
  await cluster.settle()
  const pod = { name: "large", namespace: "default" }
  const status = (cpu: string, observedGeneration: number) =>
    cluster.client.patch(
      Pod,
      pod,
      {
        type: "merge",
        body: { status: { observedGeneration, resources: { requests: { cpu } }, allocatedResources: { cpu } } },
      },
      { subresource: "status" },
    )
  await status("3", 1)
  // when
  const body = { spec: { resources: { requests: { cpu: "1" } } } }
  await cluster.client.patch(Pod, pod, { type: "strategic", body }, { subresource: "resize" })
  await create(cluster, "next", "2")
  // then
  expect(await nodeOf(cluster, "next")).toBeUndefined()
  await status("1", 2)
  await cluster.advance("10s")
  expect(await nodeOf(cluster, "next")).toBe("node-0")
})
