import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { ContainerConfig } from "../../../pkg/cri/container.ts"
import type { InitOf } from "../../../pkg/protobuf/message.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
// Loaded before time begins: on a busy machine the kubelet would wait for it longer than a cluster's time stands still.
import "./decode-device-checkpoint.ts"
import { EVERYTHING, FakeDevicePlugin, FakeDeviceSockets } from "./device-plugin.fixtures.ts"

const GPU = "example.com/gpu"
const TWO = { "gpu-0": "Healthy", "gpu-1": "Healthy" } as const

type Created = InitOf<typeof ContainerConfig>

/** A node whose device plugins are reached through `sockets`, and what its containers are created with. */
async function nodeWith(sockets: FakeDeviceSockets) {
  const node = await simulatedKubelet({ web: {}, work: { runsMs: 1000 }, crash: { runsMs: 1000, exitCode: 1 } })
  const { runtime, cluster } = node
  Object.assign(runtime, { plugins: sockets })
  const created: Created[] = []
  const createContainer = runtime.containers.createContainer.bind(runtime.containers)
  runtime.containers.createContainer = (sandbox, config, sandboxConfig) => {
    created.push(config)
    return createContainer(sandbox, config, sandboxConfig)
  }
  await node.restart()
  return {
    ...node,
    created,
    /** The devices that containers of this name were created with, each time. */
    devicesOf: (name: string) =>
      created.flatMap(({ metadata, envs = [] }) =>
        metadata?.name === name ? [envs.find(({ key }) => key === "DEVICES")?.value ?? "none"] : [],
      ),
    async register(plugin: FakeDevicePlugin, resource = GPU, endpoint = "plugin.sock"): Promise<void> {
      await sockets.register(resource, plugin, { endpoint })
      await cluster.settle()
    },
    /** The amounts of the Node: capacity and allocatable. */
    async amounts(resource = GPU) {
      const { status } = await cluster.get(Node, "node-0")
      return [status.capacity?.[resource], status.allocatable?.[resource]]
    },
  }
}

const wants = (count: number, resource = GPU) => ({ resources: { limits: { [resource]: String(count) } } })
const c = (name: string, image = "web", count = 1) => ({ name, image, ...wants(count) })

describe("device plugins", () => {
  test("show their devices in the Node, and those that are not healthy are not allocatable", async () => {
    // given
    const sockets = new FakeDeviceSockets()
    await using node = await nodeWith(sockets)
    const plugin = new FakeDevicePlugin(TWO)
    // when a plugin registers
    await node.register(plugin)
    // then
    expect(await node.amounts()).toEqual(["2", "2"])
    // and when a device fails
    plugin.tell({ ...TWO, "gpu-1": "Unhealthy" })
    await node.cluster.settle()
    expect(await node.amounts()).toEqual(["2", "1"])
  })

  test("leave the Node five minutes after they have gone, and come back when they register again", async () => {
    // given a plugin that ends
    await using node = await nodeWith(new FakeDeviceSockets())
    const plugin = new FakeDevicePlugin(TWO)
    await node.register(plugin)
    plugin.end()
    await node.cluster.settle()
    expect(await node.amounts()).toEqual(["2", "0"])
    // when it does not come back
    await node.cluster.advance("6m")
    // then
    expect(await node.amounts()).toEqual(["0", "0"])
    // and when another one registers
    await node.register(new FakeDevicePlugin({ "gpu-7": "Healthy" }))
    expect(await node.amounts()).toEqual(["1", "1"])
    await node.cluster.advance("6m")
    expect(await node.amounts()).toEqual(["1", "1"])
  })

  test("take the place of the one that registered before for the resource", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    const [first, second] = [new FakeDevicePlugin(TWO), new FakeDevicePlugin({ "gpu-9": "Healthy" })]
    await node.register(first)
    await node.register(second, GPU, "second.sock")
    first.tell({})
    await node.cluster.settle()
    expect(await node.amounts()).toEqual(["1", "1"])
  })

  test.each([
    ["another version", { version: "v1alpha1" }, GPU, 'requested API version "v1alpha1" is not supported by kubelet'],
    ["a resource of Kubernetes", {}, "cpu", 'the ResourceName "cpu" is invalid'],
    ["a resource in Kubernetes' name", {}, "kubernetes.io/gpu", 'the ResourceName "kubernetes.io/gpu" is invalid'],
    ["a resource that is no name", {}, "example.com/no name", 'the ResourceName "example.com/no name" is invalid'],
    [
      "a socket in another folder",
      { endpoint: "../other.sock" },
      GPU,
      'the endpoint "../other.sock" is not the name of a socket',
    ],
    ["no socket", { endpoint: "" }, GPU, 'the endpoint "" is not the name of a socket'],
  ])("are refused with %s", async (_title, how, resource, message) => {
    const sockets = new FakeDeviceSockets()
    await using node = await nodeWith(sockets)
    expect(sockets.register(resource, new FakeDevicePlugin(TWO), how)).rejects.toThrow(message)
    expect(await node.amounts(resource)).not.toContain("2")
  })

  test("are not listened to when they tell too many devices or too long ids", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    const plugin = new FakeDevicePlugin(TWO)
    await node.register(plugin)
    plugin.tell({ ["x".repeat(254)]: "Healthy" })
    await node.cluster.settle()
    expect(await node.amounts()).toEqual(["2", "0"])
  })

  test("cannot register where another kubelet of the machine has the socket", async () => {
    const sockets = new FakeDeviceSockets()
    sockets.isTaken = true
    await using _node = await nodeWith(sockets)
    expect(sockets.isServed).toBe(false)
  })

  test("find no socket after the kubelet has stopped", async () => {
    const sockets = new FakeDeviceSockets()
    {
      await using _node = await nodeWith(sockets)
      expect(sockets.isServed).toBe(true)
    }
    expect(sockets.isServed).toBe(false)
  })
})

describe("a pod that wants devices", () => {
  test("gets them in its containers with all that the plugin says", async () => {
    // given a plugin with two devices
    await using node = await nodeWith(new FakeDeviceSockets())
    const plugin = new FakeDevicePlugin(TWO, { allocate: () => EVERYTHING })
    await node.register(plugin)
    // when
    await node.create("web", {
      containers: [
        { ...c("c"), env: [{ name: "OWN", value: "1" }] },
        { name: "d", image: "web" },
      ],
    })
    // then
    const [with_, without] = node.created
    expect(with_!.envs![0]).toEqual({ key: "DEVICE", value: "yes" })
    expect(with_!.mounts![0]).toEqual({ containerPath: "/opt/device", hostPath: "/srv/device", readonly: true })
    expect(with_!.devices).toEqual([{ containerPath: "/dev/thing", hostPath: "/dev/thing0", permissions: "rw" }])
    expect(with_!.cdiDevices).toEqual([{ name: "example.com/thing=0" }])
    expect(with_!.annotations).toMatchObject({ "example.com/note": "1" })
    expect(with_!.annotations!["io.kubernetes.container.hash"]).not.toContain("not the kubelet's")
    expect(without!.devices).toEqual([])
    expect(plugin.calls).toEqual(["Allocate gpu-0"])
    // and its status names them
    expect(node.status("web").containerStatuses![0]!.allocatedResourcesStatus).toEqual([
      { name: GPU, resources: [{ resourceID: "gpu-0", health: "Healthy" }] },
    ])
  })

  test("shows that a device of its own has failed, and keeps it", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    const plugin = new FakeDevicePlugin(TWO)
    await node.register(plugin)
    await node.create("web", { containers: [c("c")] })
    // when
    plugin.tell({ ...TWO, "gpu-0": "Unhealthy" })
    await node.cluster.settle()
    // then
    const [status] = node.status("web").containerStatuses!
    expect(status!.allocatedResourcesStatus![0]!.resources).toEqual([{ resourceID: "gpu-0", health: "Unhealthy" }])
    expect(status!.state.running).toBeDefined()
  })

  test("keeps its devices when its container starts again, for which the plugin is asked if it wants to be", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    const plugin = new FakeDevicePlugin(TWO, { preStartRequired: true })
    await node.register(plugin)
    await node.create("web", { containers: [c("c", "crash")] })
    await node.cluster.advance(5000)
    expect(node.devicesOf("c")).toEqual(["gpu-0", "gpu-0"])
    expect(plugin.calls).toEqual(["Allocate gpu-0", "PreStartContainer gpu-0", "PreStartContainer gpu-0"])
  })

  test("gets the devices that the plugin prefers", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    const plugin = new FakeDevicePlugin(
      { ...TWO, "gpu-2": "Healthy" },
      { preferred: (available, size) => available.toReversed().slice(0, size) },
    )
    await node.register(plugin)
    await node.create("web", { containers: [c("c", "web", 2)] })
    expect(plugin.calls).toEqual(["GetPreferredAllocation gpu-0,gpu-1,gpu-2", "Allocate gpu-1,gpu-2"])
  })

  test("gives devices of init containers that have ended to later containers, but not those of sidecars", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    await node.register(new FakeDevicePlugin(TWO))
    await node.create("web", {
      initContainers: [c("first", "work"), { ...c("side"), restartPolicy: "Always" }],
      containers: [c("main")],
    })
    await node.cluster.advance(5000)
    expect(["first", "side", "main"].map((name) => node.devicesOf(name))).toEqual([["gpu-0"], ["gpu-0"], ["gpu-1"]])
  })

  test("gives them back when it has ended", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    await node.register(new FakeDevicePlugin({ "gpu-0": "Healthy" }))
    await node.create("one", { restartPolicy: "Never", containers: [c("a", "work")] })
    await node.cluster.advance(5000)
    await node.create("two", { containers: [c("b")] })
    expect(node.devicesOf("b")).toEqual(["gpu-0"])
  })

  test("gives them back as soon as its status says that it has ended", async () => {
    // given a pod whose sandbox takes long to stop
    await using node = await nodeWith(new FakeDeviceSockets())
    await node.register(new FakeDevicePlugin({ "gpu-0": "Healthy" }))
    const { stopPodSandbox } = node.runtime.containers
    node.runtime.containers.stopPodSandbox = () => new Promise(() => {})
    await node.create("one", { restartPolicy: "Never", containers: [c("a", "work")] })
    await node.cluster.advance(2000)
    expect(node.status("one").phase).toBe("Succeeded")
    // when another one comes, which the scheduler places by that
    await node.create("two", { containers: [c("b")] })
    // then
    expect(node.devicesOf("b")).toEqual(["gpu-0"])
    node.runtime.containers.stopPodSandbox = stopPodSandbox
  })

  test("is rejected when the plugin fails", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    await node.register(
      new FakeDevicePlugin(TWO, {
        allocate: () => {
          throw new Error("out of order")
        },
      }),
    )
    await node.create("web", { containers: [c("c")] })
    expect(node.status("web")).toMatchObject({
      phase: "Failed",
      reason: "UnexpectedAdmissionError",
      message:
        "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = out of order, which is unexpected",
    })
    // and its device is free
    await node.register(new FakeDevicePlugin({ "gpu-0": "Healthy" }))
    await node.create("other", { containers: [c("d")] })
    expect(node.devicesOf("d")).toEqual(["gpu-0"])
  })

  test("is rejected when fewer are free than it wants", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    await node.register(new FakeDevicePlugin(TWO))
    await node.create("web", { containers: [c("c", "web", 3)] })
    expect(node.status("web")).toMatchObject({ phase: "Failed", reason: `OutOf${GPU}` })
  })

  test("keeps its devices over a restart of the kubelet, though its plugin comes later", async () => {
    // given a pod with a device, and a pod with another device that crashes
    const sockets = new FakeDeviceSockets()
    await using node = await nodeWith(sockets)
    await node.register(new FakeDevicePlugin(TWO))
    await node.create("web", { containers: [c("a")] })
    await node.create("crash", { containers: [c("b", "crash")] })
    // when the kubelet begins anew
    await node.restart()
    expect(await node.amounts()).toEqual(["0", "0"])
    await node.cluster.advance("30s")
    // then the containers have their devices, also one that starts again before the plugin is there
    expect(node.status("web").containerStatuses![0]!.restartCount).toBe(0)
    expect(new Set(node.devicesOf("b"))).toEqual(new Set(["gpu-1"]))
    expect(node.devicesOf("b").length).toBeGreaterThan(2)
    // and no other pod gets them
    await node.register(new FakeDevicePlugin(TWO))
    expect(await node.amounts()).toEqual(["2", "2"])
    await node.create("third", { containers: [c("d")] })
    expect(node.status("third").phase).toBe("Failed")
  })

  test("can be deleted while its plugin hangs", async () => {
    await using node = await nodeWith(new FakeDeviceSockets())
    await node.register(new FakeDevicePlugin(TWO, { allocate: () => new Promise(() => {}) }))
    await node.create("waits", { containers: [c("c")] })
    // when
    await node.delete("waits")
    await node.cluster.settle()
    // then
    expect(node.pod("waits")).toBeUndefined()
  })

  test("is not held up by a plugin of another resource that hangs", async () => {
    // given a plugin that never answers an allocation
    await using node = await nodeWith(new FakeDeviceSockets())
    const stuck = new FakeDevicePlugin(TWO, { allocate: () => new Promise(() => {}) })
    await node.register(stuck, "example.com/stuck", "stuck.sock")
    await node.register(new FakeDevicePlugin(TWO))
    await node.create("waits", { containers: [{ name: "w", image: "web", ...wants(1, "example.com/stuck") }] })
    // when others come
    await node.create("plain", { containers: [{ name: "p", image: "web" }] })
    await node.create("web", { containers: [c("c")] })
    // then
    expect(["waits", "plain", "web"].map((name) => node.status(name).phase)).toEqual(["Pending", "Running", "Running"])
  })
})
