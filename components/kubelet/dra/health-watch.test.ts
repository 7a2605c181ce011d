import { describe, expect, test } from "bun:test"
import { FakePlugin, FakePlugins } from "./plugin.fixtures.ts"
import { DRIVER, nodeWith, SOCKET } from "./dra.fixtures.ts"

describe("the health of a pod's device", () => {
  const shown = (node: Awaited<ReturnType<typeof nodeWith>>) =>
    node.status("web").containerStatuses?.map(({ name, allocatedResourcesStatus }) => [name, allocatedResourcesStatus])
  const device = (health: string, more: object = {}) => [
    ["c", [{ name: "claim:device", resources: [{ resourceID: `${DRIVER}/gpu=gpu`, health, ...more }] }]],
    ["d", undefined],
  ]

  test("is shown for the container that has the device, as the driver reports it", async () => {
    // given a pod with a device
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin({ tellsHealth: true })
    await node.claim("gpu")
    await node.use("gpu", "web")
    expect(shown(node)).toEqual(device("Unknown"))
    // when the driver tells its health, then the pod shows it
    plugin.tell("Healthy")
    await node.cluster.settle()
    expect(shown(node)).toEqual(device("Healthy"))
    plugin.tell("Unhealthy", { message: "too hot" })
    await node.cluster.settle()
    expect(shown(node)).toEqual(device("Unhealthy", { message: "too hot" }))
    // and the pod runs on
    expect(node.status("web").phase).toBe("Running")
  })

  test("is Unknown once the driver's report is too old", async () => {
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin({ tellsHealth: true })
    await node.claim("gpu")
    await node.use("gpu", "web")
    plugin.tell("Healthy", { healthCheckTimeoutSeconds: 7 })
    await node.cluster.advance(6500)
    expect(shown(node)).toEqual(device("Healthy"))
    await node.cluster.advance(1000)
    expect(shown(node)).toEqual(device("Unknown"))
  })

  test("is Unknown when the plugin's stream ends, and requested again after five seconds", async () => {
    // given a device whose health is known
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin({ tellsHealth: true })
    await node.claim("gpu")
    await node.use("gpu", "web")
    plugin.tell("Healthy")
    await node.cluster.settle()
    // when the stream ends
    plugin.endStreams()
    await node.cluster.settle()
    // then
    expect(shown(node)).toEqual(device("Unknown"))
    expect(plugin.watches).toBe(1)
    await node.cluster.advance(5000)
    expect(plugin.watches).toBe(2)
    plugin.tell("Healthy")
    await node.cluster.settle()
    expect(shown(node)).toEqual(device("Healthy"))
  })

  test("is kept while the driver is updated, if its new plugin reports it before the old one ends", async () => {
    const sockets = new FakePlugins()
    await using node = await nodeWith(sockets)
    const plugin = node.plugin({ tellsHealth: true })
    await node.claim("gpu")
    await node.use("gpu", "web")
    plugin.tell("Healthy")
    await node.cluster.settle()
    const next = new FakePlugin({ driver: DRIVER, tellsHealth: true })
    sockets.add("gpu-2-reg.sock", next)
    await node.cluster.settle()
    next.tell("Healthy")
    await node.cluster.settle()
    sockets.end(SOCKET)
    await node.cluster.settle()
    expect(shown(node)).toEqual(device("Healthy"))
  })

  test("is not shown any more once the pod has ended and the device was released", async () => {
    await using node = await nodeWith(new FakePlugins())
    node.plugin({ tellsHealth: true })
    await node.claim("gpu")
    await node.use("gpu", "web", "work")
    expect(shown(node)).toEqual(device("Unknown"))
    await node.cluster.advance(2000)
    expect(node.status("web").phase).toBe("Succeeded")
    expect(shown(node)).toEqual([
      ["c", undefined],
      ["d", undefined],
    ])
  })

  test("is requested only once from a plugin that does not support it", async () => {
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin()
    await node.cluster.advance(60_000)
    expect(plugin.watches).toBe(1)
  })
})
