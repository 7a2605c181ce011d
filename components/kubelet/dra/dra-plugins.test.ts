import { describe, expect, test } from "bun:test"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { FakePlugin, FakePlugins } from "./plugin.fixtures.ts"
import { DRIVER, nodeWith, SOCKET } from "./dra.fixtures.ts"

describe("a plugin", () => {
  test.each([
    {
      title: "of a type that the kubelet does not know",
      behaviour: { type: "CSIPlugin" },
      wants: `RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket ${SOCKET}`,
    },
    {
      title: "with versions that the kubelet does not know",
      behaviour: { versions: ["v1alpha3.DRAPlugin"] },
      wants:
        "RegisterPlugin error -- plugin validation failed with err: invalid supported gRPC versions of DRA driver " +
        `plugin ${DRIVER} at endpoint ${SOCKET}: none of services supported by the plugin (["v1alpha3.DRAPlugin"]) ` +
        'are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
    },
  ])("$title is refused with the reason, and tried again later", async ({ behaviour, wants }) => {
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin(behaviour)
    await node.cluster.advance(600)
    expect(plugin.calls).toEqual([`refused: ${wants}`, `refused: ${wants}`])
  })

  test.each([
    { title: "has removed its socket", removes: true },
    { title: "was killed", removes: false },
  ])("that $title has its ResourceSlices removed after 30 seconds, if it does not come back", async ({ removes }) => {
    // given two drivers with slices, and slices of another node
    const sockets = new FakePlugins()
    await using node = await nodeWith(sockets)
    node.plugin()
    sockets.add("nic-reg.sock", new FakePlugin({ driver: "nic.example.com" }))
    await node.cluster.settle()
    const { client } = node.cluster
    const slice = (name: string, driver: string, nodeName: string) =>
      client.create(ResourceSlice, {
        metadata: { name },
        spec: { driver, nodeName, pool: { name: nodeName, generation: 1, resourceSliceCount: 1 }, devices: [] },
      })
    await slice("gpu", DRIVER, "node-0")
    await slice("nic", "nic.example.com", "node-0")
    await slice("other", DRIVER, "node-1")
    const slices = async () => (await client.list(ResourceSlice)).items.map(({ metadata: { name } }) => name)
    // when it goes and comes back
    sockets.end(SOCKET, removes)
    await node.cluster.advance(29_000)
    node.plugin()
    await node.cluster.advance(60_000)
    // then nothing is lost
    expect(await slices()).toEqual(["gpu", "nic", "other"])
    // and when it goes for good
    sockets.end(SOCKET, removes)
    await node.cluster.advance(29_000)
    expect(await slices()).toEqual(["gpu", "nic", "other"])
    await node.cluster.advance(2000)
    expect(await slices()).toEqual(["nic", "other"])
  })
})

test("ResourceSlices are removed when the kubelet starts, because no driver has registered yet", async () => {
  await using node = await nodeWith(new FakePlugins())
  await node.cluster.client.create(ResourceSlice, {
    metadata: { name: "gpu" },
    spec: {
      driver: DRIVER,
      nodeName: "node-0",
      pool: { name: "node-0", generation: 1, resourceSliceCount: 1 },
      devices: [],
    },
  })
  await node.restart()
  await node.cluster.advance(1000)
  expect((await node.cluster.client.list(ResourceSlice)).items).toEqual([])
})
