import { describe, expect, test } from "bun:test"
import { LimitRange } from "../../../../../pkg/api/core/v1/limitrange/limitrange.ts"
import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { ServiceAccount } from "../../../../../pkg/api/core/v1/serviceaccount.ts"
import type { ApiError } from "../../../../../pkg/apimachinery/errors.ts"
import { startCluster } from "../../../../cluster/testing/testing.ts"

async function start() {
  const cluster = await startCluster({ components: { controllers: false, scheduler: false } })
  const { client: admin } = cluster
  await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
  await admin.create(Node, { metadata: { name: "n" }, status: { allocatable: { cpu: "4" } } })
  const pod = await admin.create(Pod, {
    metadata: { name: "p", namespace: "default" },
    spec: {
      nodeName: "n",
      containers: [{ name: "c", image: "i", resources: { requests: { cpu: "100m" }, limits: { cpu: "200m" } } }],
    },
  })
  return { admin, pod, [Symbol.asyncDispose]: () => cluster.stop() }
}
const failure = async (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => {
      throw new Error("it was expected to fail")
    },
    (err: ApiError) => err,
  )
const DEBUGGER = { name: "debugger", image: "busybox" }

describe("pods/ephemeralcontainers", () => {
  test("adds a container to a running pod, by PATCH as kubectl debug does and by PUT, and increments the generation", async () => {
    await using started = await start()
    const { admin, pod } = started
    // when
    const patched = await admin.patch(
      Pod,
      pod.metadata,
      { type: "strategic", body: { spec: { ephemeralContainers: [DEBUGGER] } } },
      { subresource: "ephemeralcontainers" },
    )
    const put = await admin.updateSubresource<Pod>(Pod, pod.metadata, "ephemeralcontainers", {
      ...patched,
      spec: {
        ...patched.spec,
        ephemeralContainers: [...patched.spec.ephemeralContainers!, { ...DEBUGGER, name: "second" }],
      },
    })
    // then
    expect(put.spec.ephemeralContainers).toMatchObject([
      { ...DEBUGGER, terminationMessagePolicy: "File" },
      { name: "second" },
    ])
    expect(put.metadata.generation).toBe(3)
    expect(put.metadata.managedFields!.map(({ subresource }) => subresource)).toContain("ephemeralcontainers")
  })

  test("changes nothing else, and refuses to change or remove existing containers", async () => {
    await using started = await start()
    const { admin, pod } = started
    const write = (spec: object, metadata: object = {}) =>
      admin.updateSubresource<Pod>(Pod, pod.metadata, "ephemeralcontainers", {
        ...pod,
        metadata: { ...pod.metadata, resourceVersion: undefined, ...metadata },
        spec: { ...pod.spec, ...spec },
      })
    const made = await write({ ephemeralContainers: [DEBUGGER], hostname: "other" }, { labels: { a: "b" } })
    expect([made.spec.hostname, made.metadata.labels]).toEqual([undefined, undefined])
    expect((await failure(write({ ephemeralContainers: [] }))).message).toContain(
      'existing ephemeral containers "debugger" may not be removed',
    )
    expect((await failure(write({ ephemeralContainers: [{ ...DEBUGGER, image: "other" }] }))).message).toContain(
      'existing ephemeral containers "debugger" may not be changed',
    )
    expect(
      (await failure(write({ ephemeralContainers: [DEBUGGER, { ...DEBUGGER, name: "No" }] }))).details?.causes?.[0]
        ?.field,
    ).toBe("spec.ephemeralContainers[1].name")
    expect(
      (await failure(write({ ephemeralContainers: [DEBUGGER] }, { resourceVersion: pod.metadata.resourceVersion })))
        .reason,
    ).toBe("Conflict")
  })
})

describe("pods/resize", () => {
  const resize = ({ admin, pod }: Awaited<ReturnType<typeof start>>, resources: object) =>
    admin.patch(
      Pod,
      pod.metadata,
      { type: "strategic", body: { spec: { containers: [{ name: "c", resources }] } } },
      { subresource: "resize" },
    )

  test("changes the resources of a running pod's containers, and nothing else", async () => {
    await using cluster = await start()
    const resized = await resize(cluster, { requests: { cpu: "150m" } })
    expect(resized.spec.containers[0]!.resources).toEqual({ requests: { cpu: "150m" }, limits: { cpu: "200m" } })
    expect(resized.metadata.generation).toBe(2)
    const image = await cluster.admin.patch(
      Pod,
      cluster.pod.metadata,
      { type: "strategic", body: { spec: { containers: [{ name: "c", image: "other" }] } } },
      { subresource: "resize" },
    )
    expect(image.spec.containers[0]!.image).toBe("i")
  })

  test("refuses changes of the QoS class, of resources other than cpu and memory, and the removal of an amount", async () => {
    await using cluster = await start()
    expect(
      (
        await failure(
          resize(cluster, { requests: { cpu: "200m", memory: "1Mi" }, limits: { cpu: "200m", memory: "1Mi" } }),
        )
      ).message,
    ).toContain("Pod QOS Class may not change as a result of resizing")
    expect((await failure(resize(cluster, { requests: { "ephemeral-storage": "1Gi" } }))).message).toContain(
      "only cpu and memory resources are mutable",
    )
    expect((await failure(resize(cluster, { limits: { cpu: null } }))).message).toContain(
      "resource limits cannot be removed",
    )
  })

  test("respects LimitRanges and ResourceQuotas", async () => {
    await using cluster = await start()
    await cluster.admin.create(LimitRange, {
      metadata: { name: "l", namespace: "default" },
      spec: { limits: [{ type: "Container", max: { cpu: "1" } }] },
    })
    await cluster.admin.create(ResourceQuota, {
      metadata: { name: "q", namespace: "default" },
      spec: { hard: { "requests.cpu": "500m" } },
    })
    expect((await failure(resize(cluster, { limits: { cpu: "2" } }))).message).toContain(
      "maximum cpu usage per Container is 1, but limit is 2",
    )
    expect((await failure(resize(cluster, { requests: { cpu: "600m" }, limits: { cpu: "1" } }))).message).toContain(
      "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=100m, limited: requests.cpu=500m",
    )
    expect(
      (await resize(cluster, { requests: { cpu: "500m" }, limits: { cpu: "1" } })).spec.containers[0]!.resources
        .requests,
    ).toEqual({ cpu: "500m" })
  })
})
