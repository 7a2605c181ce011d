/** Pods with claims for devices: from their templates to the end of their pods. */
import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceClaimTemplate } from "../../../pkg/api/resource/v1/resourceclaimtemplate.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { podCondition } from "../../../pkg/pods/pod-state.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"

const NAMESPACE = "default"
const spec = { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } }
const pod = (name: string, claim: object) => ({
  metadata: { name, namespace: NAMESPACE },
  spec: {
    containers: [{ name: "c", image: "i", resources: { claims: [{ name: "device" }] } }],
    resourceClaims: [{ name: "device", ...claim }],
  },
})
const BY_TEMPLATE = { resourceClaimTemplateName: "gpu" }
const SHARED = { resourceClaimName: "shared" }

/** Two nodes with a device each, of a class `gpu`. */
async function start(): Promise<Cluster> {
  const cluster = await startCluster({ nodes: [{ name: "one" }, { name: "two" }] })
  const { client } = cluster
  await client.create(DeviceClass, {
    metadata: { name: "gpu" },
    spec: { selectors: [{ cel: { expression: `device.driver == "gpu.example"` } }] },
  })
  for (const nodeName of ["one", "two"]) await offer(cluster, nodeName, ["a"])
  await client.create(ResourceClaimTemplate, {
    metadata: { namespace: NAMESPACE, name: "gpu" },
    spec: { metadata: { labels: { made: "yes" } }, spec },
  })
  return cluster
}
const offer = ({ client }: Cluster, nodeName: string, devices: readonly string[], name = nodeName) =>
  client.create(ResourceSlice, {
    metadata: { name },
    spec: {
      driver: "gpu.example",
      nodeName,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: devices.map((device) => ({ name: device })),
    },
  })
const claims = async ({ client }: Cluster) => (await client.list(ResourceClaim, { namespace: NAMESPACE })).items
const nodeOf = async (cluster: Cluster, name: string) => (await cluster.get(Pod, name)).spec.nodeName
const poolsOf = ({ status }: ResourceClaim) => status.allocation?.devices.results?.map(({ pool }) => pool)

describe("a pod with a claim from a template", () => {
  test("gets its own claim, and is scheduled to the node of the claim's device", async () => {
    // given
    await using cluster = await start()
    // when
    await cluster.client.create(Pod, pod("web", BY_TEMPLATE))
    await cluster.settle()
    // then
    const [claim] = await claims(cluster)
    const { metadata, spec: placed, status } = await cluster.get(Pod, "web")
    expect(claim).toMatchObject({
      metadata: {
        generateName: "web-device-",
        labels: { made: "yes" },
        annotations: { "resource.kubernetes.io/pod-claim-name": "device" },
        ownerReferences: [{ kind: "Pod", name: "web", uid: metadata.uid, controller: true }],
        finalizers: ["resource.kubernetes.io/delete-protection"],
      },
      status: {
        allocation: { devices: { results: [{ request: "gpu", pool: placed.nodeName, device: "a" }] } },
        reservedFor: [{ resource: "pods", name: "web", uid: metadata.uid }],
      },
    })
    expect(status.resourceClaimStatuses).toEqual([{ name: "device", resourceClaimName: claim!.metadata.name! }])
    expect(status.phase).toBe("Running")
  })

  test("stays pending while its expression fails for the device of one node, and is tried again", async () => {
    // given devices of which only that of the second node has an attribute
    await using cluster = await start()
    const slice = await cluster.client.get(ResourceSlice, { name: "two" })
    const attributes = { works: { bool: true } }
    await cluster.client.update(ResourceSlice, {
      ...slice,
      spec: { ...slice.spec, devices: [{ name: "a", attributes }] },
    })
    const expression = `device.attributes["gpu.example"].works`
    const [request] = spec.devices.requests
    const exactly = { ...request!.exactly, selectors: [{ cel: { expression } }] }
    await cluster.client.create(ResourceClaim, {
      metadata: { namespace: NAMESPACE, name: "shared" },
      spec: { devices: { requests: [{ ...request!, exactly }] } },
    })
    // when
    await cluster.client.create(Pod, pod("web", SHARED))
    await cluster.settle()
    // then
    const { status, spec: placed } = await cluster.get(Pod, "web")
    expect(placed.nodeName).toBeUndefined()
    expect(podCondition({ status } as Pod, "PodScheduled")).toMatchObject({
      status: "False",
      reason: "SchedulerError",
      message:
        'running "DynamicResources" filter plugin: claim default/shared: selector #0: CEL runtime error: no such key: works',
    })
    // when that device is withdrawn
    await cluster.client.delete(ResourceSlice, { name: "one" })
    await cluster.advance("1m")
    // then
    expect(await nodeOf(cluster, "web")).toBe("two")
  })

  test("waits while no device is free, and gets the device of a deleted pod", async () => {
    // given as many pods as devices
    await using cluster = await start()
    for (const name of ["first", "second"]) await cluster.client.create(Pod, pod(name, BY_TEMPLATE))
    await cluster.settle()
    expect(new Set([await nodeOf(cluster, "first"), await nodeOf(cluster, "second")])).toEqual(new Set(["one", "two"]))
    // when one more comes
    await cluster.client.create(Pod, pod("third", BY_TEMPLATE))
    await cluster.settle()
    // then
    expect(podCondition(await cluster.get(Pod, "third"), "PodScheduled")?.message).toStartWith(
      "0/2 nodes are available: 2 cannot allocate all claims.",
    )
    // and when another goes
    const free = await nodeOf(cluster, "first")
    await cluster.delete(Pod, "first", { gracePeriodSeconds: 0 })
    await cluster.advance("30s")
    // then its claim has gone, too
    expect(await nodeOf(cluster, "third")).toBe(free!)
    expect((await claims(cluster)).length).toBe(2)
  })

  test("waits for its template, and for a device that is published later", async () => {
    // given a pod without a template
    await using cluster = await start()
    const { client } = cluster
    for (const name of ["one", "two"]) await client.delete(ResourceSlice, { name })
    await client.create(Pod, pod("web", { resourceClaimTemplateName: "late" }))
    await cluster.settle()
    expect(await claims(cluster)).toEqual([])
    // when
    await client.create(ResourceClaimTemplate, { metadata: { namespace: NAMESPACE, name: "late" }, spec: { spec } })
    await cluster.advance("10s")
    await offer(cluster, "two", ["b"])
    await cluster.advance("30s")
    // then
    expect(await nodeOf(cluster, "web")).toBe("two")
  })

  test("is scheduled to the node with its most preferred alternative", async () => {
    // given a node with two devices among nodes with one
    await using cluster = await start()
    const { client } = cluster
    await client.delete(ResourceSlice, { name: "two" })
    await offer(cluster, "two", ["a", "b"])
    for (const name of ["three", "four", "five", "six"]) {
      await cluster.addNode({ name })
      await offer(cluster, name, ["a"])
    }
    const alternatives = [2, 1].map((count) => ({ name: `of-${count}`, deviceClassName: "gpu", count }))
    await client.create(ResourceClaimTemplate, {
      metadata: { namespace: NAMESPACE, name: "many" },
      spec: { spec: { devices: { requests: [{ name: "gpus", firstAvailable: alternatives }] } } },
    })
    // when
    await client.create(Pod, pod("first", { resourceClaimTemplateName: "many" }))
    await cluster.settle()
    await client.create(Pod, pod("second", { resourceClaimTemplateName: "many" }))
    await cluster.settle()
    // then
    expect(await nodeOf(cluster, "first")).toBe("two")
    const given = (await claims(cluster)).map(({ status }) =>
      status.allocation!.devices.results!.map(({ request }) => request),
    )
    expect(given).toEqual([["gpus/of-2", "gpus/of-2"], ["gpus/of-1"]])
  })

  test("releases its device when it has finished", async () => {
    await using cluster = await start()
    await cluster.client.create(Pod, pod("job", BY_TEMPLATE))
    await cluster.settle()
    const { metadata, status } = await cluster.get(Pod, "job")
    await cluster.client.updateStatus(Pod, {
      ...(await cluster.get(Pod, "job")),
      metadata,
      status: { ...status, phase: "Succeeded" },
    })
    await cluster.settle()
    expect(await claims(cluster)).toEqual([])
  })
})

describe("a claim that pods share", () => {
  test("brings them all to the node of its device, and releases the device after the last pod", async () => {
    // given
    await using cluster = await start()
    const { client } = cluster
    await client.create(Pod, pod("early", SHARED))
    await cluster.settle()
    expect(await nodeOf(cluster, "early")).toBeUndefined()
    // when
    await client.create(ResourceClaim, { metadata: { namespace: NAMESPACE, name: "shared" }, spec })
    for (const name of ["first", "second"]) await client.create(Pod, pod(name, SHARED))
    await cluster.advance("30s")
    // then
    const read = () => client.get(ResourceClaim, { namespace: NAMESPACE, name: "shared" })
    const names = ["early", "first", "second"]
    const [pool] = poolsOf(await read())!
    expect(await Promise.all(names.map((name) => nodeOf(cluster, name)))).toEqual([pool!, pool!, pool!])
    expect((await read()).status.reservedFor?.map(({ name }) => name).sort()).toEqual(names)
    // when
    for (const name of names) await cluster.delete(Pod, name, { gracePeriodSeconds: 0 })
    await cluster.settle()
    // then
    const { metadata, status } = await read()
    expect([status, metadata.finalizers]).toEqual([{}, undefined])
  })

  test("with a class that does not exist keeps its pods Pending, with the reason", async () => {
    await using cluster = await start()
    const devices = { requests: [{ name: "r", exactly: { deviceClassName: "missing" } }] }
    await cluster.client.create(ResourceClaim, {
      metadata: { namespace: NAMESPACE, name: "shared" },
      spec: { devices },
    })
    await cluster.client.create(Pod, pod("web", SHARED))
    await cluster.settle()
    expect(podCondition(await cluster.get(Pod, "web"), "PodScheduled")?.message).toStartWith(
      "0/2 nodes are available: request r: device class missing does not exist.",
    )
  })

  test("gets another device if the node of its device cannot be used", async () => {
    // given a claim with a device on a node, and nobody who uses it
    await using cluster = await start()
    const { client } = cluster
    await client.create(ResourceClaim, { metadata: { namespace: NAMESPACE, name: "shared" }, spec })
    await client.create(Pod, pod("first", SHARED))
    await cluster.settle()
    const claim = await client.get(ResourceClaim, { namespace: NAMESPACE, name: "shared" })
    const from = await nodeOf(cluster, "first")
    const { reservedFor: _users, ...unused } = claim.status
    await cluster.delete(Pod, "first", { gracePeriodSeconds: 0 })
    await cluster.settle()
    const finalizers = ["resource.kubernetes.io/delete-protection"]
    const now = await client.get(ResourceClaim, { namespace: NAMESPACE, name: "shared" })
    const kept = await client.update(ResourceClaim, { ...now, metadata: { ...now.metadata, finalizers } })
    await client.updateStatus(ResourceClaim, { ...kept, status: unused })
    // when a pod comes that cannot go there
    const other = from === "one" ? "two" : "one"
    const picky = pod("second", SHARED)
    await client.create(Pod, { ...picky, spec: { ...picky.spec, nodeSelector: { "kubernetes.io/hostname": other } } })
    await cluster.advance("30s")
    // then
    expect(await nodeOf(cluster, "second")).toBe(other)
  })
})

describe("a device with binding conditions", () => {
  /** Two nodes, a device for both that its driver attaches, and a pod that is to get it. */
  async function startAttached() {
    const cluster = await start()
    const { client } = cluster
    for (const name of ["one", "two"]) await client.delete(ResourceSlice, { name })
    const device = { bindsToNode: true, bindingConditions: ["Attached"], bindingFailureConditions: ["Broken"] }
    await client.create(ResourceSlice, {
      metadata: { name: "fabric" },
      spec: {
        driver: "gpu.example",
        allNodes: true,
        pool: { name: "fabric", generation: 1, resourceSliceCount: 1 },
        devices: [
          { name: "a", ...device },
          { name: "b", ...device },
        ],
      },
    })
    await client.create(ResourceClaim, { metadata: { namespace: NAMESPACE, name: "shared" }, spec })
    await client.create(Pod, pod("web", SHARED))
    await cluster.advance("1m")
    const read = () => client.get(ResourceClaim, { namespace: NAMESPACE, name: "shared" })
    return Object.assign(cluster, {
      read,
      /** The driver tells of the claim's device. */
      async tell(type: string): Promise<void> {
        const claim = await read()
        const { driver, pool: name, device: of } = claim.status.allocation!.devices.results![0]!
        const lastTransitionTime = "2026-01-01T00:00:00Z"
        const conditions = [
          { type, status: "True" as const, reason: "Told", message: "by the driver", lastTransitionTime },
        ]
        const devices = [{ driver, pool: name, device: of, conditions }]
        await client.updateStatus(ResourceClaim, { ...claim, status: { ...claim.status, devices } })
        await cluster.settle()
      },
      events: () => cluster.history({ kind: "Event" }).map(({ object }) => (object as { reason?: string }).reason),
    })
  }
  const given = ({ status }: ResourceClaim) => status.allocation?.devices.results?.map(({ device }) => device)

  test("delays the binding of its pod until the driver reports that it is ready", async () => {
    await using cluster = await startAttached()
    // given a pod whose claim has a device
    expect(given(await cluster.read())).toEqual(["a"])
    expect((await cluster.read()).status.allocation?.allocationTimestamp).toBeDefined()
    expect(await nodeOf(cluster, "web")).toBeUndefined()
    expect(cluster.events()).toContain("BindingConditionsPending")
    // when the driver has made it ready
    await cluster.tell("Attached")
    // then the pod goes to the node that it is ready for
    const selector = (await cluster.read()).status.allocation?.nodeSelector
    expect([await nodeOf(cluster, "web")]).toEqual([...selector!.nodeSelectorTerms[0]!.matchFields![0]!.values!])
  })

  test.each([
    { title: "its driver fails", fail: (cluster: Awaited<ReturnType<typeof startAttached>>) => cluster.tell("Broken") },
    {
      title: "its driver does not report within ten minutes",
      fail: (cluster: Awaited<ReturnType<typeof startAttached>>) => cluster.advance("10m"),
    },
  ])("is released, and another one tried, if $title", async ({ fail }) => {
    await using cluster = await startAttached()
    const before = (await cluster.read()).status.allocation?.allocationTimestamp
    // when
    await fail(cluster)
    await cluster.advance("2m")
    // then the claim has been given a device once more, and the pod still waits
    const { allocation } = (await cluster.read()).status
    expect(allocation?.allocationTimestamp).not.toBe(before!)
    expect(await nodeOf(cluster, "web")).toBeUndefined()
    await cluster.tell("Attached")
    expect(await nodeOf(cluster, "web")).toBeDefined()
  })
})
