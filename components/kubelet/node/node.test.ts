import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

test("the node's status tells of images that came without a pull", async () => {
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
