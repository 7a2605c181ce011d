import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { FakePlugins } from "./plugin.fixtures.ts"
import { DRIVER, nodeWith } from "./dra.fixtures.ts"

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
