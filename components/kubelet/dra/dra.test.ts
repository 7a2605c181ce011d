import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
import { FakePlugin, FakePlugins } from "./plugin.fixtures.ts"

const DRIVER = "gpu.example.com"
const SOCKET = "gpu-reg.sock"

/** A node that has devices prepared by the plugins of `sockets`, and keeps what its containers are created with. */
async function nodeWith(sockets: FakePlugins) {
  const node = await simulatedKubelet({ web: {}, work: { runsMs: 1000 } })
  const { runtime, cluster } = node
  Object.assign(runtime, { plugins: sockets })
  const created = new Map<string, readonly string[]>()
  const createContainer = runtime.containers.createContainer.bind(runtime.containers)
  runtime.containers.createContainer = (sandbox, config, sandboxConfig) => {
    created.set(
      config.metadata?.name ?? "",
      (config.cdiDevices ?? []).map(({ name }) => name ?? ""),
    )
    return createContainer(sandbox, config, sandboxConfig)
  }
  await node.restart()
  return {
    ...node,
    created,
    /** Makes a claim with a device of the driver. */
    async claim(name: string): Promise<ResourceClaim> {
      const claim = await cluster.client.create(ResourceClaim, {
        metadata: { name, namespace: "default" },
        spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpus" } }] } },
      })
      const results = [{ request: "gpu", driver: DRIVER, pool: "pool", device: "gpu-0" }]
      return cluster.client.updateStatus(ResourceClaim, { ...claim, status: { allocation: { devices: { results } } } })
    },
    /** Makes a pod on the node whose container `c` uses the claim. */
    async use(claimName: string, podName: string, image = "web"): Promise<void> {
      const pod = await cluster.client.create(Pod, {
        metadata: { name: podName, namespace: "default" },
        spec: {
          restartPolicy: image === "work" ? "Never" : "Always",
          schedulingGates: [{ name: "example.com/claim" }],
          resourceClaims: [{ name: "device", resourceClaimName: claimName }],
          containers: [
            { name: "c", image, resources: { claims: [{ name: "device" }] } },
            { name: "d", image },
          ],
        },
      })
      const claim = await cluster.client.get(ResourceClaim, { namespace: "default", name: claimName })
      const reservedFor = [
        ...(claim.status.reservedFor ?? []),
        { resource: "pods", name: podName, uid: pod.metadata.uid! },
      ]
      await cluster.client.updateStatus(ResourceClaim, { ...claim, status: { ...claim.status, reservedFor } })
      const ungated = await cluster.client.update(Pod, { ...pod, spec: { ...pod.spec, schedulingGates: undefined } })
      await cluster.client.createSubresource(Pod, ungated.metadata, "binding", {
        metadata: { name: podName },
        target: { kind: "Node", name: "node-0" },
      })
      await cluster.settle()
    },
    plugin(behaviour: Partial<ConstructorParameters<typeof FakePlugin>[0]> = {}): FakePlugin {
      const plugin = new FakePlugin({ driver: DRIVER, ...behaviour })
      sockets.add(SOCKET, plugin)
      return plugin
    },
  }
}

describe("a pod with a claim", () => {
  test("waits for the driver of its device, and starts as soon as the driver's plugin has registered", async () => {
    // given a claim for a device whose driver is not on the node
    await using node = await nodeWith(new FakePlugins())
    await node.claim("gpu")
    // when a pod comes that uses it
    await node.use("gpu", "web")
    // then it waits
    expect(node.status("web").phase).toBe("Pending")
    expect(node.events("web")).toEqual([
      "FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources: " +
        `DRA driver ${DRIVER} is not registered`,
    ])
    // and when the plugin comes
    const plugin = node.plugin()
    await node.cluster.settle()
    // then the container that uses the claim gets the device, and the other one does not
    expect(plugin.calls).toEqual(["registered", "prepare default/gpu"])
    expect(node.status("web").phase).toBe("Running")
    expect(Object.fromEntries(node.created)).toEqual({ c: [`${DRIVER}/gpu=gpu`], d: [] })
  })

  test("has its device unprepared after its containers have ended and before its end is reported", async () => {
    // given a pod that ends after a second
    await using node = await nodeWith(new FakePlugins())
    const phases: (string | undefined)[] = []
    node.plugin({
      unprepare: () => {
        phases.push(node.status("job").phase)
        return {}
      },
    })
    await node.claim("gpu")
    await node.use("gpu", "job", "work")
    // when it has ended
    await node.cluster.advance(2000)
    // then
    expect(phases).toEqual(["Running"])
    expect(node.status("job").phase).toBe("Succeeded")
  })

  test("has not ended as long as its device cannot be unprepared", async () => {
    // given a driver that cannot let go
    await using node = await nodeWith(new FakePlugins())
    let isStuck = true
    node.plugin({ unprepare: () => (isStuck ? { error: "device is busy" } : {}) })
    await node.claim("gpu")
    await node.use("gpu", "job", "work")
    // when the pod's container has ended
    await node.cluster.advance("20s")
    // then nobody is told, who could give its device to another pod
    expect(node.status("job").containerStatuses![0]!.state!.terminated!.exitCode).toBe(0)
    expect(node.status("job").phase).toBe("Running")
    // and when the driver can
    isStuck = false
    await node.cluster.advance("1m")
    expect(node.status("job").phase).toBe("Succeeded")
  })

  test("is not deleted until its device is unprepared", async () => {
    // given a driver that cannot let go
    await using node = await nodeWith(new FakePlugins())
    let isStuck = true
    node.plugin({ unprepare: () => (isStuck ? { error: "device is busy" } : {}) })
    await node.claim("gpu")
    await node.use("gpu", "web")
    // when the pod is deleted
    await node.cluster.client.delete(Pod, { namespace: "default", name: "web" }, { gracePeriodSeconds: 1 })
    await node.cluster.advance(5000)
    expect(node.pod("web")).toBeDefined()
    // then it goes as soon as the driver has let go
    isStuck = false
    await node.cluster.advance(5000)
    expect(node.pod("web")).toBeUndefined()
  })

  test("shares a device with another pod: it is prepared once and unprepared once, even across a restart of the kubelet", async () => {
    // given two pods with one claim
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin()
    await node.claim("gpu")
    await node.use("gpu", "a")
    await node.use("gpu", "b")
    expect(plugin.calls).toEqual(["registered", "prepare default/gpu"])
    // when the kubelet begins anew, and one pod goes
    await node.restart()
    await node.delete("a", 1)
    await node.cluster.advance(3000)
    // then the device stays prepared
    expect(plugin.calls).toEqual(["registered", "prepare default/gpu", "registered"])
    // and is given back with the other
    await node.delete("b", 1)
    await node.cluster.advance(3000)
    expect(plugin.calls.slice(3)).toEqual(["unprepare default/gpu"])
  })

  test("does not start when its claim is no longer reserved for it", async () => {
    // given a pod that waits, because its driver fails
    await using node = await nodeWith(new FakePlugins())
    await node.claim("gpu")
    const plugin = node.plugin({ prepare: () => ({ error: "out of memory" }) })
    await node.use("gpu", "web")
    expect(node.events("web")[0]).toEndWith("NodePrepareResources failed for ResourceClaim gpu: out of memory")
    // when the claim is taken from it
    const { client } = node.cluster
    const claim = await client.get(ResourceClaim, { namespace: "default", name: "gpu" })
    const { reservedFor: _, ...status } = claim.status
    await client.updateStatus(ResourceClaim, { ...claim, status })
    const asked = plugin.calls.length
    await node.cluster.advance(11_000)
    // then the driver is not asked again
    expect(plugin.calls).toHaveLength(asked)
    expect(node.events("web").at(-1)).toMatch(/pod web \(.*\) is not allowed to use ResourceClaim gpu \(.*\)$/)
  })
})

test("containers get the devices of the requests that the pod's status maps their extended resources to", async () => {
  // given a pod that asks for devices as resources, as it is before the scheduler binds it
  await using node = await nodeWith(new FakePlugins())
  const { client } = node.cluster
  const requests = ["container-0-request-0", "container-1-request-0"]
  const plugin = node.plugin({
    prepare: () => ({
      devices: requests.map((request, i) => ({
        requestNames: [request],
        poolName: "pool",
        deviceName: `gpu-${i}`,
        cdiDeviceIds: [`${DRIVER}/gpu=${i}`],
      })),
    }),
  })
  const asking = (name: string, resource: string) => ({
    name,
    image: "web",
    resources: { requests: { [resource]: "1" }, limits: { [resource]: "1" } },
  })
  const resources = ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpus"]
  const pod = await client.create(Pod, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      containers: [asking("c", resources[0]!), asking("d", resources[1]!), { name: "e", image: "web" }],
    },
  })
  // and the claim that the scheduler has made
  const claim = await client.create(ResourceClaim, {
    metadata: { name: "made", namespace: "default" },
    spec: { devices: { requests: requests.map((name) => ({ name, exactly: { deviceClassName: "gpus" } })) } },
  })
  const results = requests.map((request, i) => ({ request, driver: DRIVER, pool: "pool", device: `gpu-${i}` }))
  const reservedFor = [{ resource: "pods", name: "web", uid: pod.metadata.uid! }]
  await client.updateStatus(ResourceClaim, { ...claim, status: { allocation: { devices: { results } }, reservedFor } })
  const requestMappings = requests.map((requestName, i) => ({
    containerName: ["c", "d"][i]!,
    resourceName: resources[i]!,
    requestName,
  }))
  await client.updateStatus(Pod, {
    ...pod,
    status: { ...pod.status, extendedResourceClaimStatus: { resourceClaimName: "made", requestMappings } },
  })
  // when it is bound
  await client.createSubresource(Pod, pod.metadata, "binding", {
    metadata: { name: "web" },
    target: { kind: "Node", name: "node-0" },
  })
  await node.cluster.settle()
  // then
  expect(node.status("web").phase).toBe("Running")
  expect(plugin.calls).toEqual(["registered", "prepare default/made"])
  expect(Object.fromEntries(node.created)).toEqual({ c: [`${DRIVER}/gpu=0`], d: [`${DRIVER}/gpu=1`], e: [] })
  // and when it is deleted
  await client.delete(Pod, { name: "web", namespace: "default" })
  await node.cluster.advance("1m")
  // then
  expect(plugin.calls.at(-1)).toBe("unprepare default/made")
})

describe("the health of a pod's device", () => {
  const shown = (node: Awaited<ReturnType<typeof nodeWith>>) =>
    node.status("web").containerStatuses?.map(({ name, allocatedResourcesStatus }) => [name, allocatedResourcesStatus])
  const device = (health: string, more: object = {}) => [
    ["c", [{ name: "claim:device", resources: [{ resourceID: `${DRIVER}/gpu=gpu`, health, ...more }] }]],
    ["d", undefined],
  ]

  test("is shown for the container that has it, as the driver tells it", async () => {
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

  test("is Unknown when the plugin's stream ends, and asked for again after five seconds", async () => {
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

  test("is kept while the driver is updated, when its new plugin tells it before the old one goes", async () => {
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

  test("is not shown any more once the pod has ended and the device was given back", async () => {
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

  test("is asked for once only of a plugin that cannot tell it", async () => {
    await using node = await nodeWith(new FakePlugins())
    const plugin = node.plugin()
    await node.cluster.advance(60_000)
    expect(plugin.watches).toBe(1)
  })
})

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
  ])("$title is told so, and asked again later", async ({ behaviour, wants }) => {
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

test("the device of a pod that ended while no kubelet ran is unprepared", async () => {
  // given a node with a pod
  await using node = await nodeWith(new FakePlugins())
  const plugin = node.plugin()
  await node.claim("gpu")
  await node.use("gpu", "web")
  // when the pod is removed while the kubelet is down, and its containers are gone too
  const fault = await node.cluster.faults.crashed({ kubelet: "node-0" })
  await node.delete("web", 0)
  for (const { id } of await node.runtime.containers.listPodSandboxes()) {
    await node.runtime.containers.stopPodSandbox(id)
    await node.runtime.containers.removePodSandbox(id)
  }
  await fault.end()
  await node.cluster.advance(61_000)
  // then
  expect(plugin.calls.at(-1)).toBe("unprepare default/gpu")
})

test("claims wait on a node whose record of prepared claims is damaged", async () => {
  await using node = await nodeWith(new FakePlugins())
  node.plugin()
  await node.runtime.files.write("/var/lib/kubelet/dra_manager_state", '{"Data":"{}","Checksum":1}')
  await node.restart()
  await node.claim("gpu")
  await node.use("gpu", "web")
  expect(node.events("web")[0]).toContain(
    "cannot read /var/lib/kubelet/dra_manager_state, which records the prepared claims: the checksum is not that of the data",
  )
})
