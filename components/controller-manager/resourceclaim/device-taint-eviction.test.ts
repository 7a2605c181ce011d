/** Pods whose devices get a taint with the effect NoExecute. */
import { describe, expect, test } from "bun:test"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { podCondition } from "../../../pkg/pods/pod-state.ts"
import { Event, Pod, startCluster, type Cluster } from "../../cluster/testing/testing.ts"

type Toleration = Readonly<Record<string, string | number>>

/** A node with two devices, and a pod with a claim for one of them, which tolerates this. */
async function start(tolerations: readonly Toleration[] = []): Promise<Cluster> {
  const cluster = await startCluster({ nodes: [{ name: "one" }] })
  const { client } = cluster
  await client.create(DeviceClass, { metadata: { name: "gpu" }, spec: {} })
  await publish(cluster, {})
  await client.create(ResourceClaim, {
    metadata: { name: "gpu" },
    spec: {
      devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", tolerations: [...tolerations] } }] },
    },
  })
  await client.create(Pod, {
    metadata: { name: "user" },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }],
      resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }],
    },
  })
  await cluster.advance("1m")
  expect((await cluster.get(Pod, "user")).status.phase).toBe("Running")
  return cluster
}

/** Publishes both devices, with these taints, in a new generation of their pool. */
async function publish({ client }: Cluster, taints: Readonly<Record<string, readonly object[]>>): Promise<void> {
  const before = (await client.list(ResourceSlice)).items[0]
  const generation = (before?.spec.pool.generation ?? 0) + 1
  const spec = {
    driver: "gpu.example",
    nodeName: "one",
    pool: { name: "one", generation, resourceSliceCount: 1 },
    devices: ["a", "b"].map((name) => ({ name, taints: taints[name] ?? [] })) as never,
  }
  if (before === undefined) await client.create(ResourceSlice, { metadata: { name: "one" }, spec })
  else await client.update(ResourceSlice, { ...before, spec })
}

const BROKEN = { key: "broken", value: "very", effect: "NoExecute" }
const user = async (cluster: Cluster): Promise<Pod | undefined> =>
  (await cluster.list(Pod)).find(({ metadata }) => metadata.name === "user")
const messages = async (cluster: Cluster) =>
  (await cluster.list(Event))
    .filter(({ reason }) => reason === "DeviceTaintManagerEviction")
    .map(({ message, reportingComponent, source }) => [message, reportingComponent || source?.component])

describe("a pod whose device gets a taint with the effect NoExecute", () => {
  test("is deleted at once, and its status says why", async () => {
    // given a pod that somebody keeps
    await using cluster = await start()
    const keep = (finalizers: readonly string[]) =>
      cluster.client.patch(Pod, "user", { type: "merge", body: { metadata: { finalizers } } })
    await keep(["example.com/seen"])
    // when
    await publish(cluster, { a: [BROKEN] })
    await cluster.advance("1s")
    // then
    const pod = (await user(cluster))!
    expect(pod.metadata.deletionTimestamp).toBeDefined()
    expect(podCondition(pod, "DisruptionTarget")).toMatchObject({
      status: "True",
      reason: "DeletionByDeviceTaintManager",
      message: "Device Taint manager: deleting due to NoExecute taint",
    })
    expect(await messages(cluster)).toEqual([["Marking for deletion", "device-taint-eviction-controller"]])
    await keep([])
    await cluster.advance("1m")
    expect(await user(cluster)).toBeUndefined()
  })

  const kept = [
    { title: "another device has it", taints: { b: [BROKEN] }, tolerations: [] },
    { title: "the effect is NoSchedule", taints: { a: [{ ...BROKEN, effect: "NoSchedule" }] }, tolerations: [] },
    { title: "its claim tolerates it for ever", taints: { a: [BROKEN] }, tolerations: [BROKEN] },
    {
      title: "its claim tolerates every taint of this effect",
      taints: { a: [BROKEN] },
      tolerations: [{ operator: "Exists", effect: "NoExecute" }],
    },
  ]
  test.each(kept)("stays where $title", async ({ taints, tolerations }) => {
    await using cluster = await start(tolerations)
    await publish(cluster, taints)
    await cluster.advance("10m")
    expect((await user(cluster))?.metadata.deletionTimestamp).toBeUndefined()
    expect((await user(cluster))?.status.phase).toBe("Running")
  })

  test("goes where the toleration names no effect, which counts for scheduling alone", async () => {
    await using cluster = await start([{ operator: "Exists" }])
    await publish(cluster, { a: [BROKEN] })
    await cluster.advance("1m")
    expect(await user(cluster)).toBeUndefined()
  })

  test("stays when the taint is gone before its time is over", async () => {
    await using cluster = await start([{ ...BROKEN, tolerationSeconds: 60 }])
    await publish(cluster, { a: [BROKEN] })
    await cluster.advance("30s")
    await publish(cluster, {})
    await cluster.advance("5m")
    expect((await user(cluster))?.status.phase).toBe("Running")
    expect(await messages(cluster)).toEqual([["Cancelling deletion", "device-taint-eviction-controller"]])
  })

  test("goes by the shortest of several tolerations, counted from the time of the taint", async () => {
    await using cluster = await start([
      { ...BROKEN, tolerationSeconds: 300 },
      { operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 },
    ])
    await publish(cluster, { a: [BROKEN] })
    await cluster.advance("59s")
    expect((await user(cluster))?.metadata.deletionTimestamp).toBeUndefined()
    await cluster.advance("2s")
    expect(await user(cluster)).toBeUndefined()
  })
})
