import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"
import { NS } from "./kinds-in-depth.fixtures.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "k" } })
  await cluster.post(`${NS}/serviceaccounts`, { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

const refused = async (method: string, path: string, body: unknown, type = "application/json") => {
  const { code, body: status } = await cluster.send(method, path, { body, type })
  return { code, reason: status.reason, message: status.message }
}

describe("ConfigMaps and Secrets", () => {
  for (const [plural, data] of [
    ["configmaps", "value"],
    ["secrets", "dmFsdWU="],
  ] as const) {
    test(`refuse an empty key: ${plural}`, async () => {
      const answer = await refused("POST", `${NS}/${plural}`, { metadata: { name: "empty-key" }, data: { "": data } })
      expect([answer.code, answer.reason]).toEqual([422, "Invalid"])
      expect(answer.message).toContain("a valid config key must consist of alphanumeric characters")
    })

    test(`cannot be changed once immutable, and can be deleted: ${plural}`, async () => {
      const path = `${NS}/${plural}/immutable`
      await cluster.post(`${NS}/${plural}`, { metadata: { name: "immutable" }, data: { "data-1": data } })
      const changed = await cluster.patch(path, "merge", { data: { "data-4": data } })
      await cluster.put(path, { ...changed, immutable: true })
      const refusals = [
        await refused("PATCH", path, { data: { "data-5": data } }, "application/merge-patch+json"),
        await refused("PATCH", path, { immutable: false }, "application/merge-patch+json"),
        await refused("PATCH", path, { immutable: null }, "application/merge-patch+json"),
      ]
      for (const answer of refusals)
        expect([answer.code, answer.message.includes("field is immutable when `immutable` is set")]).toEqual([
          422,
          true,
        ])
      expect((await cluster.patch(path, "merge", { metadata: { labels: { a: "b" } } })).metadata.labels).toEqual({
        a: "b",
      })
      await cluster.delete(path)
    })
  }

  test("Secrets are patched with stringData, and found by label in all namespaces", async () => {
    await cluster.post(`${NS}/secrets`, {
      metadata: { name: "patched", labels: { testsecret: "true" } },
      type: "Opaque",
      stringData: { key: "value" },
    })
    const patched = await cluster.patch(`${NS}/secrets/patched`, "strategic", {
      metadata: { labels: { "testsecret-constant": "true" } },
      data: { key: "dmFsdWUx" },
    })
    expect(patched.data).toEqual({ key: "dmFsdWUx" })
    expect((await cluster.get("/api/v1/secrets?labelSelector=testsecret-constant%3Dtrue")).items).toHaveLength(1)
    await cluster.delete(`${NS}/secrets?labelSelector=testsecret%3Dtrue`)
    expect((await cluster.get("/api/v1/secrets?labelSelector=testsecret-constant%3Dtrue")).items).toEqual([])
  })
})

describe("Namespaces", () => {
  test("are patched and updated, and accept conditions in their status", async () => {
    await cluster.post("/api/v1/namespaces", { metadata: { name: "n1" } })
    expect(
      (await cluster.patch("/api/v1/namespaces/n1", "strategic", { metadata: { labels: { testLabel: "testValue" } } }))
        .metadata.labels,
    ).toEqual({ testLabel: "testValue", "kubernetes.io/metadata.name": "n1" })
    const patched = await cluster.patch("/api/v1/namespaces/n1/status", "merge", {
      metadata: { annotations: { "e2e-patched-ns-status": "n1" } },
      status: {
        conditions: [{ type: "StatusPatch", status: "True", reason: "E2E", message: "Patched by an e2e test" }],
      },
    })
    expect(patched).toMatchObject({
      metadata: { annotations: { "e2e-patched-ns-status": "n1" } },
      status: { phase: "Active", conditions: [{ type: "StatusPatch" }] },
    })
    const updated = await cluster.put("/api/v1/namespaces/n1/status", {
      ...patched,
      status: {
        ...patched.status,
        conditions: [
          ...patched.status.conditions!,
          { type: "StatusUpdate", status: "True", reason: "E2E", message: "Updated by an e2e test" },
        ],
      },
    })
    expect(updated.status.conditions).toHaveLength(2)
    expect(
      (
        await cluster.put("/api/v1/namespaces/n1", {
          ...updated,
          metadata: { ...updated.metadata, labels: { ...updated.metadata.labels, n1: "updated" } },
        })
      ).metadata.labels,
    ).toMatchObject({ n1: "updated" })
  })

  test("gain and lose finalizers through finalize, and stay while one is left", async () => {
    await cluster.post("/api/v1/namespaces", { metadata: { name: "n2" } })
    const now = await cluster.get("/api/v1/namespaces/n2")
    const more = await cluster.put("/api/v1/namespaces/n2/finalize", {
      ...now,
      spec: { finalizers: ["kubernetes", "e2e.example.com/fakeFinalizer"] },
    })
    expect(more.spec["finalizers"]).toEqual(["kubernetes", "e2e.example.com/fakeFinalizer"])
    await cluster.delete("/api/v1/namespaces/n2")
    const dying = await cluster.get("/api/v1/namespaces/n2")
    expect([dying.status.phase, dying.metadata.deletionTimestamp === undefined]).toEqual(["Terminating", false])
    const inside = await refused("POST", "/api/v1/namespaces/n2/configmaps", { metadata: { name: "late" } })
    expect([inside.code, inside.message]).toEqual([
      403,
      'configmaps "late" is forbidden: unable to create new content in namespace n2 because it is being terminated',
    ])
    await cluster.put("/api/v1/namespaces/n2/finalize", { ...dying, spec: { finalizers: [] } })
    expect((await cluster.send("GET", "/api/v1/namespaces/n2")).code).toBe(404)
    for (const name of ["default", "kube-system"])
      expect((await cluster.send("DELETE", `/api/v1/namespaces/${name}`)).code).toBe(403)
  })
})

describe("Events", () => {
  test("are the same objects in both APIs", async () => {
    const v1 = "/apis/events.k8s.io/v1/namespaces/k/events"
    await cluster.post(v1, {
      metadata: { name: "event-test", labels: { "testevent-constant": "true" } },
      eventTime: "2026-01-01T00:00:00.000001Z",
      regarding: { namespace: "k" },
      note: "This is event-test",
      action: "Do",
      reason: "Test",
      type: "Normal",
      reportingController: "test-controller",
      reportingInstance: "test-node",
    })
    expect(
      (await cluster.get("/apis/events.k8s.io/v1/events?labelSelector=testevent-constant%3Dtrue")).items,
    ).toHaveLength(1)
    expect(await cluster.get(`${NS}/events/event-test`)).toMatchObject({
      apiVersion: "v1",
      message: "This is event-test",
      involvedObject: { namespace: "k" },
      reportingComponent: "test-controller",
    })
    const patched = await cluster.patch(`${v1}/event-test`, "strategic", {
      series: { count: 2, lastObservedTime: "2026-01-01T00:00:05.000001Z" },
    })
    expect(patched).toMatchObject({ series: { count: 2 } })
    const updated = await cluster.put(`${v1}/event-test`, {
      ...patched,
      series: { count: 100, lastObservedTime: "2026-01-01T00:00:06.000001Z" },
    })
    expect(updated).toMatchObject({ series: { count: 100, lastObservedTime: "2026-01-01T00:00:06.000001Z" } })
    await cluster.delete(`${v1}/event-test`)
    expect((await cluster.get(v1)).items).toEqual([])
  })

  test("of core/v1 are patched, and deleted as a collection", async () => {
    for (const n of [1, 2, 3])
      await cluster.post(`${NS}/events`, {
        metadata: { name: `set-${n}`, labels: { "testevent-set": "true" } },
        involvedObject: { namespace: "k" },
        message: `This is set-${n}`,
        reason: "Test",
        type: "Normal",
        source: { component: "test" },
        count: 1,
      })
    expect((await cluster.patch(`${NS}/events/set-1`, "strategic", { message: "patched" }))["message"]).toBe("patched")
    expect(
      (await cluster.get(`${NS}/events?fieldSelector=involvedObject.namespace%3Dk,reason%3DTest`)).items,
    ).toHaveLength(3)
    await cluster.delete(`${NS}/events?labelSelector=testevent-set%3Dtrue`)
    expect((await cluster.get(`${NS}/events`)).items).toEqual([])
  })
})

describe("further kinds", () => {
  test("Leases accept times with microseconds", async () => {
    const path = "/apis/coordination.k8s.io/v1/namespaces/k/leases"
    const lease = await cluster.post(path, {
      metadata: { name: "l" },
      spec: {
        holderIdentity: "holder",
        leaseDurationSeconds: 30,
        acquireTime: "2026-01-01T00:00:00.000001Z",
        renewTime: "2026-01-01T00:00:02.000000Z",
        leaseTransitions: 0,
      },
    })
    expect(lease.spec).toEqual({
      holderIdentity: "holder",
      leaseDurationSeconds: 30,
      acquireTime: "2026-01-01T00:00:00.000001Z",
      renewTime: "2026-01-01T00:00:02.000000Z",
      leaseTransitions: 0,
    })
    const changed = await cluster.put(`${path}/l`, {
      ...lease,
      spec: { ...lease.spec, holderIdentity: "holder2", leaseTransitions: 1 },
    })
    expect(changed.spec).toMatchObject({ holderIdentity: "holder2", leaseTransitions: 1 })
    expect((await cluster.get(`${path}/l`)).spec).toEqual(changed.spec)
    const patched = await cluster.patch(`${path}/l`, "strategic", {
      spec: { leaseDurationSeconds: 60, acquireTime: "2026-01-01T00:00:05.000002Z", leaseTransitions: 2 },
    })
    expect(patched.spec).toEqual({
      ...changed.spec,
      leaseDurationSeconds: 60,
      acquireTime: "2026-01-01T00:00:05.000002Z",
      leaseTransitions: 2,
    })
    await cluster.post(path, { metadata: { name: "l2", labels: { deletecollection: "true" } } })
    expect((await cluster.get(path)).items).toHaveLength(2)
    await cluster.delete(`${path}?labelSelector=deletecollection%3Dtrue`)
    expect((await cluster.get(path)).items.map(({ metadata }) => metadata.name)).toEqual(["l"])
    await cluster.delete(`${path}/l`)
    expect((await cluster.send("GET", `${path}/l`)).code).toBe(404)
  })

  test("StorageClasses and ServiceCIDRs refuse changes of immutable fields", async () => {
    const sc = "/apis/storage.k8s.io/v1/storageclasses"
    expect(await cluster.post(sc, { metadata: { name: "fast" }, provisioner: "e2e.example.com/p" })).toMatchObject({
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
    })
    expect(
      (await refused("PATCH", `${sc}/fast`, { provisioner: "other" }, "application/merge-patch+json")).message,
    ).toContain('provisioner: Invalid value: "other": field is immutable')
    const kubernetes = await cluster.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
    expect(kubernetes).toMatchObject({
      spec: { cidrs: ["10.43.0.0/16"] },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    })
  })

  test("IPAddresses are named by addresses of both families", async () => {
    const path = "/apis/networking.k8s.io/v1/ipaddresses"
    for (const [name, type] of [
      ["255.255.255.255", "broadcast"],
      ["fe80::42:1dff:fe84:f9e2", "link-local"],
    ] as const)
      await cluster.post(path, {
        metadata: { name, labels: { type } },
        spec: { parentRef: { group: "mygroup", resource: "myresources", namespace: "foo", name: "bar" } },
      })
    expect(
      (
        await refused("POST", path, {
          metadata: { name: "fe80:0::1" },
          spec: { parentRef: { resource: "services", namespace: "a", name: "b" } },
        })
      ).code,
    ).toBe(422)
    await cluster.patch(`${path}/fe80::42:1dff:fe84:f9e2`, "merge", { metadata: { annotations: { patched: "true" } } })
    for (const type of ["broadcast", "link-local"]) await cluster.delete(`${path}?labelSelector=type%3D${type}`)
    expect((await cluster.get(`${path}?labelSelector=%21ipaddress.kubernetes.io%2Fmanaged-by`)).items).toEqual([])
    expect((await cluster.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes/status")).kind).toBe("ServiceCIDR")
  })

  test("ControllerRevisions keep their data, and PodTemplates can be replaced", async () => {
    const path = "/apis/apps/v1/namespaces/k/controllerrevisions"
    await cluster.post(path, { metadata: { name: "r" }, revision: 1, data: { a: 1 } })
    expect((await cluster.patch(`${path}/r`, "merge", { revision: 3 }))["revision"]).toBe(3)
    expect((await refused("PATCH", `${path}/r`, { data: { a: 2 } }, "application/merge-patch+json")).message).toContain(
      "data: Invalid value",
    )
    await cluster.post(`${NS}/podtemplates`, {
      metadata: { name: "t" },
      template: { spec: { containers: [{ name: "c", image: "i" }] } },
    })
    expect(
      await cluster.put(`${NS}/podtemplates/t`, {
        metadata: { name: "t" },
        template: { spec: { containers: [{ name: "e2e", image: "j" }] } },
      }),
    ).toMatchObject({ template: { spec: { containers: [{ name: "e2e" }] } } })
  })
})

test("namespaces are selected by their phase and metadata.name, and not by name", async () => {
  const selected = (selector: string) =>
    cluster.send("GET", `/api/v1/namespaces?fieldSelector=${encodeURIComponent(selector)}`)
  expect(await selected("metadata.name=default,status.phase=Active")).toMatchObject({ code: 200 })
  expect(await selected("name=default")).toMatchObject({
    code: 400,
    body: {
      message: "field label not supported: name",
    },
  })
})
