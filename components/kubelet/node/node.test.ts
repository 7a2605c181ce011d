import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
import { withRemovals } from "./node-status.ts"
import type { NodeStatus } from "../../../pkg/api/core/v1/node/nodestatus.ts"

test("the node's status shows images that were imported without a pull", async () => {
  // given a kubelet that is started anew while an image is on its way
  await using node = await simulatedKubelet({})
  const arrival = Promise.withResolvers<void>()
  let more: Promise<void> | undefined = arrival.promise
  Object.assign(node.runtime, { moreImages: () => more })
  await node.restart()
  const names = async () =>
    (await node.cluster.get(Node, "node-0")).status.images?.flatMap((image) => image.names ?? [])
  expect((await names()) ?? []).toEqual([])
  // when it comes
  await node.runtime.images.pullImage({ image: "k3ts.local/web:1" })
  more = undefined
  arrival.resolve()
  await node.cluster.settle()
  // then
  expect(await names()).toContain("k3ts.local/web:1")
})

test("a node that starts before its network is Ready soon after its network is ready", async () => {
  // given a kubelet whose runtime has no network yet
  await using node = await simulatedKubelet({})
  const { status: whole } = node.runtime.containers
  let isReady = false
  Object.assign(node.runtime.containers, {
    async status() {
      const all = await whole.call(node.runtime.containers)
      const conditions = all.status!.conditions.map((one) => ({ ...one, status: isReady }))
      return { ...all, status: { ...all.status!, conditions } }
    },
  })
  await node.restart()
  const ready = async () =>
    (await node.cluster.get(Node, "node-0")).status.conditions?.find(({ type }) => type === "Ready")?.status
  expect(await ready()).toBe("False")
  // when
  isReady = true
  await node.cluster.advance(150)
  // then
  expect(await ready()).toBe("True")
})

test("a new node that is ready reads its status once when it starts", async () => {
  // given a kubelet that is started anew after its Node was deleted
  await using node = await simulatedKubelet({})
  let reads = 0
  const { listImages } = node.runtime.images
  Object.assign(node.runtime.images, {
    listImages() {
      reads++
      return listImages.call(node.runtime.images)
    },
  })
  const fault = await node.cluster.faults.crashed({ kubelet: "node-0" })
  await node.cluster.delete(Node, "node-0")
  await fault.end()
  await node.cluster.settle()
  // then
  const { conditions = [] } = (await node.cluster.get(Node, "node-0")).status
  expect(conditions.find(({ type }) => type === "Ready")?.status).toBe("True")
  expect(reads).toBe(1)
})

test("a new node writes its status with itself, and again five minutes later", async () => {
  // given
  await using cluster = await startCluster({ nodes: [], components: { scheduler: false } })
  let writes = 0
  await using _counted = await cluster.faults.requests({
    user: "system:node:new",
    verb: "patch",
    subresource: "status",
    error() {
      writes++
      return undefined
    },
  })
  // when
  await cluster.addNode({ name: "new" })
  await cluster.advance("1m")
  // then
  const { conditions = [] } = (await cluster.get(Node, "new")).status
  expect(conditions.find(({ type }) => type === "Ready")?.status).toBe("True")
  expect(writes).toBe(0)
  await cluster.advance("5m")
  expect(writes).toBe(1)
})

test("the addresses of a dual-stack node replace those that its status had before", async () => {
  // given
  await using cluster = await startCluster({ nodes: [], components: { scheduler: false, controllers: false } })
  const report = (...ips: readonly string[]) => {
    const addresses = [...ips.map((address) => ({ type: "InternalIP", address })), { type: "Hostname", address: "vm" }]
    return cluster.client.patch(
      Node,
      { name: "vm" },
      { type: "strategic", body: { status: withRemovals({} as NodeStatus, { addresses }) } },
      { subresource: "status" },
    )
  }
  const addressesOf = ({ status }: Node) => (status.addresses ?? []).map(({ address }) => address)
  await cluster.client.create(Node, { metadata: { name: "vm" } })
  // when, then
  expect(addressesOf(await report("192.0.2.2", "fd00::2"))).toEqual(["192.0.2.2", "fd00::2", "vm"])
  expect(addressesOf(await report("fd00::2", "192.0.2.2"))).toEqual(["fd00::2", "192.0.2.2", "vm"])
  expect(addressesOf(await report("192.0.2.2"))).toEqual(["192.0.2.2", "vm"])
})
