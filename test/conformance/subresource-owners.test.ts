/**
 * The field managers of writes through subresources: /scale, /status, /resize and others, in managedFields and in
 * conflicts. The expected values are those of Kubernetes 1.36.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster, type Loose } from "./cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
})
afterAll(() => cluster.stop())

const CORE = "/api/v1/namespaces/default"
const APPS = "/apis/apps/v1/namespaces/default"
const metadata = { labels: { a: "b" } }
const containers = [{ name: "c", image: "i" }]
const template = { metadata, spec: { containers } }
const APPLY = "application/apply-patch+yaml"

/** `manager operation subresource` → the paths it owns of those asked for. */
const owners = ({ metadata }: Loose, ...path: string[]): readonly string[] =>
  (metadata.managedFields ?? [])
    .filter(
      ({ fieldsV1 }) => path.reduce<Node | undefined>((node, step) => node?.[step], fieldsV1 as Node) !== undefined,
    )
    .map(({ manager, operation, subresource = "" }) => `${manager} ${operation} ${subresource}`.trim())
    .sort()
interface Node {
  readonly [element: string]: Node
}
const replicasOf = (object: Loose) => owners(object, "f:spec", "f:replicas")

describe.each([
  { title: "a Deployment", path: `${APPS}/deployments`, apiVersion: "apps/v1", kind: "Deployment" },
  { title: "a StatefulSet", path: `${APPS}/statefulsets`, apiVersion: "apps/v1", kind: "StatefulSet" },
  { title: "a ReplicaSet", path: `${APPS}/replicasets`, apiVersion: "apps/v1", kind: "ReplicaSet" },
  {
    title: "a ReplicationController",
    path: `${CORE}/replicationcontrollers`,
    apiVersion: "v1",
    kind: "ReplicationController",
  },
])("the size of $title", ({ path, apiVersion, kind }) => {
  const named = `${path}/owned`
  const scaleOf = (spec: object) => ({ apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "owned" }, spec })
  beforeAll(async () => {
    const selector = apiVersion === "v1" ? metadata.labels : { matchLabels: metadata.labels }
    await cluster.post(`${path}?fieldManager=maker`, {
      metadata: { name: "owned" },
      spec: { replicas: 2, selector, template },
    })
  })

  test("is owned by the manager that writes it through /scale, and by no other", async () => {
    expect(replicasOf(await cluster.get(named))).toEqual(["maker Update"])
    await cluster.patch(`${named}/scale?fieldManager=scaler`, "merge", { spec: { replicas: 3 } })
    const scaled = await cluster.get(named)
    expect(replicasOf(scaled)).toEqual(["scaler Update scale"])
    expect<unknown>(scaled.metadata.managedFields?.find(({ manager }) => manager === "scaler")).toEqual({
      manager: "scaler",
      operation: "Update",
      apiVersion,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:replicas": {} } },
      subresource: "scale",
    })
    await cluster.put(`${named}/scale?fieldManager=other`, { metadata: { name: "owned" }, spec: { replicas: 4 } })
    expect(replicasOf(await cluster.get(named))).toEqual(["other Update scale"])
  })

  test("keeps its owner and the generation if the same size is written", async () => {
    const before = await cluster.get(named)
    await cluster.patch(`${named}/scale?fieldManager=idle`, "merge", { spec: { replicas: before.spec.replicas } })
    expect(await cluster.get(named)).toEqual(before)
  })

  test("causes conflicts between appliers, on /scale as elsewhere", async () => {
    const body = { apiVersion, kind, metadata: { name: "owned" }, spec: { replicas: 5 } }
    const refused = await cluster.send("PATCH", `${named}?fieldManager=applier`, { body, type: APPLY })
    expect(refused.body).toMatchObject({
      code: 409,
      message:
        `Apply failed with 1 conflict: conflict with "other" with subresource "scale" using ${apiVersion}: ` +
        ".spec.replicas",
    })
    await cluster.patch(`${named}?fieldManager=applier&force=true`, "apply", body)
    const scale = `${named}/scale?fieldManager=scaling`
    expect((await cluster.send("PATCH", scale, { body: scaleOf({ replicas: 6 }), type: APPLY })).body).toMatchObject({
      code: 409,
      message: `Apply failed with 1 conflict: conflict with "applier": .spec.replicas`,
    })
    expect((await cluster.patch(`${scale}&force=true`, "apply", scaleOf({ replicas: 6 }))).spec.replicas).toBe(6)
    expect(replicasOf(await cluster.get(named))).toEqual(["scaling Apply scale"])
    await cluster.patch(`${named}/scale?fieldManager=sharing`, "apply", scaleOf({ replicas: 6 }))
    expect(replicasOf(await cluster.get(named))).toEqual(["scaling Apply scale", "sharing Apply scale"])
    await cluster.patch(scale, "apply", scaleOf({}))
    expect(replicasOf(await cluster.get(named))).toEqual(["sharing Apply scale"])
  })

  test("changes the generation, and a write of it must name the right object and version", async () => {
    const { metadata: before } = await cluster.get(named)
    await cluster.patch(`${named}/scale`, "json", [{ op: "replace", path: "/spec/replicas", value: 7 }])
    expect((await cluster.get(named)).metadata.generation).toBe(before.generation + 1)
    const put = (more: object) =>
      cluster.send("PUT", `${named}/scale`, { body: { metadata: { name: "owned", ...more }, spec: { replicas: 8 } } })
    expect((await put({ resourceVersion: before.resourceVersion })).body).toMatchObject({
      code: 409,
      reason: "Conflict",
    })
    expect((await put({ uid: "another" })).body).toMatchObject({ code: 409, reason: "Conflict" })
    expect((await put({ name: undefined })).body).toMatchObject({
      code: 400,
      message: "the name of the object (owned based on URL) was undeterminable: name must be provided",
    })
    expect(
      (
        await cluster.send("PATCH", `${named}/scale`, {
          body: { spec: { replicas: -1 } },
          type: "application/merge-patch+json",
        })
      ).code,
    ).toBe(422)
  })
})

describe("a write to /status", () => {
  const written = {
    metadata: {
      labels: { w: "x" },
      annotations: { w: "x" },
      ownerReferences: [{ apiVersion: "v1", kind: "X", name: "x", uid: "y" }],
    },
  }
  const rows = [
    {
      kind: "a Deployment",
      path: `${APPS}/deployments`,
      body: { spec: { selector: { matchLabels: { a: "b" } }, template } },
      labels: "dropped",
      annotations: "owned",
    },
    {
      kind: "a Service",
      path: `${CORE}/services`,
      body: { spec: { ports: [{ port: 80 }] } },
      labels: "owned",
      annotations: "owned",
    },
    {
      kind: "a ServiceCIDR",
      path: "/apis/networking.k8s.io/v1/servicecidrs",
      body: { spec: { cidrs: ["10.88.0.0/24"] } },
      labels: "dropped",
      annotations: "dropped",
    },
    {
      kind: "a VolumeAttachment",
      path: "/apis/storage.k8s.io/v1/volumeattachments",
      body: { spec: { attacher: "a.b", nodeName: "n", source: { persistentVolumeName: "v" } } },
      labels: "dropped",
      annotations: "dropped",
    },
    { kind: "a Pod", path: `${CORE}/pods`, body: { spec: { containers } }, labels: "owned", annotations: "owned" },
  ] as const
  test.each(rows)(
    "of $kind: labels are $labels, annotations are $annotations",
    async ({ path, body, labels, annotations }) => {
      const { metadata } = await cluster.post(`${path}?fieldManager=maker`, {
        metadata: { generateName: "s-" },
        ...body,
      })
      const after = await cluster.patch(`${path}/${metadata.name}/status?fieldManager=status`, "merge", written)
      const fate = (field: "labels" | "annotations") =>
        after.metadata[field]?.["w"] === undefined
          ? "dropped"
          : owners(after, "f:metadata", `f:${field}`, "f:w").join() === "status Update status"
            ? "owned"
            : "nobody's"
      expect({ labels: fate("labels"), annotations: fate("annotations") }).toEqual({ labels, annotations })
    },
  )

  test("owns no field that the write leaves unchanged", async () => {
    const { metadata } = await cluster.post(`${CORE}/pods`, { metadata: { generateName: "s-" }, spec: { containers } })
    const after = await cluster.patch(`${CORE}/pods/${metadata.name}/status?fieldManager=status`, "merge", written)
    expect(after.metadata.ownerReferences).toBeUndefined()
    expect(owners(after, "f:metadata", "f:ownerReferences")).toEqual([])
  })
})

test("a manager that resizes a pod or adds a container to it owns only those fields", async () => {
  await cluster.post(`${CORE}/pods`, { metadata: { name: "live" }, spec: { containers } })
  const patch = (subresource: string, spec: object) =>
    cluster.patch(`${CORE}/pods/live/${subresource}?fieldManager=${subresource}`, "strategic", {
      metadata: { labels: { w: "x" } },
      spec,
    })
  await patch("ephemeralcontainers", { ephemeralContainers: [{ name: "e", image: "j" }] })
  const after = await cluster.get(`${CORE}/pods/live`)
  expect(after.metadata.labels).toBeUndefined()
  expect(after.metadata.managedFields?.find(({ manager }) => manager === "ephemeralcontainers")).toMatchObject({
    subresource: "ephemeralcontainers",
    fieldsV1: { "f:spec": { "f:ephemeralContainers": { 'k:{"name":"e"}': { "f:image": {} } } } },
  })
})

test("a manager that finalizes a namespace owns its finalizers", async () => {
  await cluster.post("/api/v1/namespaces", { metadata: { name: "held" } })
  const put = (finalizers: readonly string[]) =>
    cluster.put("/api/v1/namespaces/held/finalize?fieldManager=holder", {
      metadata: { name: "held" },
      spec: { finalizers },
    })
  expect(owners(await put(["kubernetes", "a.b/c"]), "f:spec", "f:finalizers")).toEqual(["holder Update finalize"])
  await cluster.delete("/api/v1/namespaces/held")
  await put([])
  expect((await cluster.send("GET", "/api/v1/namespaces/held")).code).toBe(404)
})
