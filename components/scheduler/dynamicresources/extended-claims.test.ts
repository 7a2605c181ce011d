/** Pods that ask for devices by the names of extended resources: from their scheduling to the end of their claims. */
import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { podCondition } from "../../../pkg/pods/pod-state.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"

const NAMESPACE = "default"
const GPU = "example.com/gpu"
const IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"

const pod = (name: string, amount = "1", resource = GPU) => ({
  metadata: { name, namespace: NAMESPACE },
  spec: {
    containers: [
      { name: "c", image: "i", resources: { requests: { [resource]: amount }, limits: { [resource]: amount } } },
    ],
  },
})

const offer = ({ client }: Cluster, nodeName: string, devices: readonly string[]) =>
  client.create(ResourceSlice, {
    metadata: { name: nodeName },
    spec: {
      driver: "gpu.example",
      nodeName,
      pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
      devices: devices.map((device) => ({ name: device })),
    },
  })
const classOf = (name: string, extendedResourceName?: string) => ({
  metadata: { name },
  spec: { selectors: [{ cel: { expression: `device.driver == "gpu.example"` } }], extendedResourceName },
})
const claims = async ({ client }: Cluster) => (await client.list(ResourceClaim, { namespace: NAMESPACE })).items
const nodeOf = async (cluster: Cluster, name: string) => (await cluster.get(Pod, name)).spec.nodeName
const refusal = async (cluster: Cluster, name: string) =>
  podCondition(await cluster.get(Pod, name), "PodScheduled")?.message

/** Two nodes, of which `two` has a device, and a class that stands for `example.com/gpu`. */
async function start(): Promise<Cluster> {
  const cluster = await startCluster({ nodes: [{ name: "one" }, { name: "two" }] })
  await cluster.client.create(DeviceClass, classOf("gpu", GPU))
  await offer(cluster, "two", ["a"])
  return cluster
}

describe("a pod that asks for an extended resource", () => {
  test.each([
    { title: "that a DeviceClass names", resource: GPU },
    { title: "by the implicit name of a DeviceClass", resource: IMPLICIT },
  ])("$title runs on the node of a device, with a claim that was created for the pod", async ({ resource }) => {
    // given
    await using cluster = await start()
    // when
    await cluster.client.create(Pod, pod("web", "1", resource))
    await cluster.settle()
    // then
    const [claim, ...others] = await claims(cluster)
    const { metadata, spec, status } = await cluster.get(Pod, "web")
    expect(others).toEqual([])
    expect(claim).toMatchObject({
      metadata: {
        generateName: "web-extended-resources-",
        annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: metadata.uid, controller: true }],
        finalizers: ["resource.kubernetes.io/delete-protection"],
      },
      spec: {
        devices: {
          requests: [
            {
              name: "container-0-request-0",
              exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 },
            },
          ],
        },
      },
      status: {
        allocation: { devices: { results: [{ request: "container-0-request-0", pool: "two", device: "a" }] } },
        reservedFor: [{ resource: "pods", name: "web", uid: metadata.uid }],
      },
    })
    expect(claim!.metadata.name).toStartWith("web-extended-resources-")
    expect([spec.nodeName, status.phase]).toEqual(["two", "Running"])
    expect(status.extendedResourceClaimStatus).toEqual({
      resourceClaimName: claim!.metadata.name!,
      requestMappings: [{ containerName: "c", resourceName: resource, requestName: "container-0-request-0" }],
    })
  })

  test("gets it from the Node if the Node has the resource, without a claim", async () => {
    // given a node that lists the resource, and none with a device
    await using cluster = await start()
    await cluster.client.delete(ResourceSlice, { name: "two" })
    const one = await cluster.client.get(Node, { name: "one" })
    const amounts = {
      capacity: { ...one.status.capacity, [GPU]: "1" },
      allocatable: { ...one.status.allocatable, [GPU]: "1" },
    }
    await cluster.client.updateStatus(Node, { ...one, status: { ...one.status, ...amounts } })
    // when
    await cluster.client.create(Pod, pod("web"))
    await cluster.advance("30s")
    // then
    expect(await nodeOf(cluster, "web")).toBe("one")
    expect(await claims(cluster)).toEqual([])
  })

  test("waits while its devices are in use, and gets those of a pod that has ended", async () => {
    // given
    await using cluster = await start()
    await cluster.client.create(Pod, pod("first"))
    await cluster.settle()
    // when
    await cluster.client.create(Pod, pod("second"))
    await cluster.settle()
    // then
    expect(await refusal(cluster, "second")).toStartWith("0/2 nodes are available: 2 cannot allocate all claims.")
    // and when
    const first = await cluster.get(Pod, "first")
    await cluster.client.updateStatus(Pod, { ...first, status: { ...first.status, phase: "Succeeded" } })
    await cluster.advance("30s")
    // then its claim has gone, and the other pod has the device
    expect(await nodeOf(cluster, "second")).toBe("two")
    expect((await claims(cluster)).map(({ metadata }) => metadata.ownerReferences![0]!.name)).toEqual(["second"])
  })

  test("is unschedulable without a DeviceClass, as for any resource, and runs when a class is created", async () => {
    // given
    await using cluster = await start()
    await cluster.client.delete(DeviceClass, { name: "gpu" })
    await cluster.client.create(Pod, pod("web"))
    await cluster.settle()
    expect(await refusal(cluster, "web")).toStartWith(`0/2 nodes are available: 2 Insufficient ${GPU}.`)
    // when
    const late = await cluster.client.create(DeviceClass, classOf("late"))
    await cluster.advance("30s")
    expect(await nodeOf(cluster, "web")).toBeUndefined()
    await cluster.client.update(DeviceClass, { ...late, spec: { ...late.spec, extendedResourceName: GPU } })
    await cluster.advance("30s")
    // then
    expect(await nodeOf(cluster, "web")).toBe("two")
  })

  test("gets devices of the newest DeviceClass that names the resource", async () => {
    await using cluster = await start()
    await cluster.advance("10s")
    await cluster.client.create(DeviceClass, classOf("newer", GPU))
    await cluster.client.create(Pod, pod("web"))
    await cluster.settle()
    const [claim] = await claims(cluster)
    expect(claim!.spec.devices.requests![0]!.exactly!.deviceClassName).toBe("newer")
  })

  test("gets a new claim if an earlier attempt has left one", async () => {
    // given a pod that waits, and a claim as a scheduler leaves it that has stopped between its writes
    await using cluster = await start()
    await cluster.client.delete(ResourceSlice, { name: "two" })
    const { metadata } = await cluster.client.create(Pod, pod("web"))
    await cluster.settle()
    const left = await cluster.client.create(ResourceClaim, {
      metadata: {
        namespace: NAMESPACE,
        name: "left",
        annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
        finalizers: ["resource.kubernetes.io/delete-protection"],
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: metadata.uid!, controller: true }],
      },
      spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } },
    })
    // when
    await offer(cluster, "two", ["a"])
    await cluster.advance("1m")
    // then
    expect(await nodeOf(cluster, "web")).toBe("two")
    expect((await claims(cluster)).map(({ metadata: { name } }) => name)).not.toContain(left.metadata.name!)
    expect((await claims(cluster)).length).toBe(1)
  })

  test("releases its devices when it cannot be bound", async () => {
    // given a cluster in which no pod can be told of its claim
    await using cluster = await start()
    const refused = await cluster.faults.requests({
      user: "system:kube-scheduler",
      resource: "pods",
      subresource: "status",
      error: "Forbidden",
    })
    // when
    await cluster.client.create(Pod, pod("web"))
    await cluster.settle()
    // then its claim has been made, and deleted
    expect(cluster.history({ kind: "ResourceClaim" }).length).toBeGreaterThan(1)
    expect(await claims(cluster)).toEqual([])
    // and when it can
    await refused.end()
    await cluster.advance("1m")
    // then
    expect(await nodeOf(cluster, "web")).toBe("two")
    expect((await claims(cluster)).length).toBe(1)
  })

  test("is charged to a quota once, together with its claim and with other claims", async () => {
    // given a quota of all that counts its devices, and a node with three of them
    await using cluster = await start()
    const { client } = cluster
    await client.delete(ResourceSlice, { name: "two" })
    await offer(cluster, "two", ["a", "b", "c"])
    const entries = [
      "count/resourceclaims.resource.k8s.io",
      `requests.${GPU}`,
      `requests.${IMPLICIT}`,
      "gpu.deviceclass.resource.k8s.io/devices",
    ]
    await client.create(ResourceQuota, {
      metadata: { name: "devices", namespace: NAMESPACE },
      spec: { hard: Object.fromEntries(entries.map((entry) => [entry, "3"])) },
    })
    // when a pod comes that asks by both names, and a claim
    const amounts = { [GPU]: "1", [IMPLICIT]: "1" }
    const both = { name: "c", image: "i", resources: { requests: amounts, limits: amounts } }
    await client.create(Pod, { metadata: { name: "web", namespace: NAMESPACE }, spec: { containers: [both] } })
    await cluster.settle()
    const claim = (count: number) => ({
      metadata: { name: "own", namespace: NAMESPACE },
      spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu", count } }] } },
    })
    // then the claim may not have more than is left
    expect(await client.create(ResourceClaim, claim(2)).catch((err: Error) => err.message)).toBe(
      'resourceclaims.resource.k8s.io "own" is forbidden: exceeded quota: devices, requested: ' +
        `gpu.deviceclass.resource.k8s.io/devices=2,requests.${IMPLICIT}=2,requests.${GPU}=2, used: ` +
        `gpu.deviceclass.resource.k8s.io/devices=2,requests.${IMPLICIT}=2,requests.${GPU}=2, limited: ` +
        `gpu.deviceclass.resource.k8s.io/devices=3,requests.${IMPLICIT}=3,requests.${GPU}=3`,
    )
    await client.create(ResourceClaim, claim(1))
    await cluster.settle()
    const { used } = (await client.get(ResourceQuota, { name: "devices", namespace: NAMESPACE })).status
    expect(used).toEqual(Object.fromEntries(entries.map((entry, i) => [entry, i === 0 ? "2" : "3"])))
  })
})
