import { describe, expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { StorageVersionMigration } from "../../../pkg/api/storagemigration/v1beta1/storageversionmigration.ts"
import { startController } from "../../../pkg/controller/start.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"
import { storageVersionMigrator } from "./storageversionmigrator.ts"

const SERVED = {
  nodes: 0,
  features: { StorageVersionMigrator: true },
  runtimeConfig: ["storagemigration.k8s.io/v1beta1=true"],
}
const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
const definition = (stored: "v1" | "v2") => ({
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget" },
    scope: "Namespaced",
    versions: ["v1", "v2"].map((name) => ({ name, served: true, storage: name === stored, schema })),
  },
})

/** Returns a cluster with objects of v1, whose definition stores v2 now. */
async function withOldObjects(count: number): Promise<Cluster> {
  const cluster = await startCluster(SERVED)
  await cluster.client.create(CustomResourceDefinition, definition("v1") as never)
  await cluster.settle()
  const widgets = Array.from({ length: count }, (_, i) => ({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { namespace: "default", name: `w-${i}` },
    size: i,
  }))
  await cluster.apply(widgets as never)
  const now = await cluster.client.get(CustomResourceDefinition, { name: "widgets.example.com" })
  await cluster.client.update(CustomResourceDefinition, { ...now, spec: definition("v2").spec } as never)
  await cluster.settle()
  return cluster
}
const versions = async (cluster: Cluster) =>
  (await cluster.client.get(CustomResourceDefinition, { name: "widgets.example.com" })).status.storedVersions
const migrate = (cluster: Cluster, name: string, resource: string, group = "example.com") =>
  cluster.client.create(StorageVersionMigration, { metadata: { name }, spec: { resource: { group, resource } } })
const conditionsOf = async (cluster: Cluster, name: string) => {
  const { status } = await cluster.client.get(StorageVersionMigration, { name })
  return Object.fromEntries((status.conditions ?? []).map((one) => [one.type, `${one.status} ${one.message}`]))
}

describe("a StorageVersionMigration", () => {
  test("writes every object in the version that is stored now, and takes the other ones from the definition", async () => {
    // given
    await using cluster = await withOldObjects(3)
    expect(await versions(cluster)).toEqual(["v1", "v2"])
    // when
    await migrate(cluster, "m", "widgets")
    await cluster.settle()
    // then
    expect(await conditionsOf(cluster, "m")).toMatchObject({ Running: "False Migration completed", Succeeded: "True " })
    expect(await versions(cluster)).toEqual(["v2"])
    const { status } = await cluster.client.get(StorageVersionMigration, { name: "m" })
    const objects = await cluster.client.list(cluster.kind("example.com/v2", "Widget"))
    expect(objects.items).toHaveLength(3)
    for (const { metadata } of objects.items)
      expect(Number(metadata.resourceVersion)).toBeGreaterThan(Number(status.resourceVersion))
    // and v1 may leave the definition, which keeps all objects
    const now = await cluster.client.get(CustomResourceDefinition, { name: "widgets.example.com" })
    const onlyV2 = { ...now.spec, versions: now.spec.versions.filter(({ name }) => name === "v2") }
    await cluster.client.update(CustomResourceDefinition, { ...now, spec: onlyV2 })
    await cluster.settle()
    expect((await cluster.kubectl("get widgets -o name")).stdout.trim().split("\n")).toHaveLength(3)
    expect((await cluster.kubectl("get storageversionmigrations")).stdout).toMatch(/m +widgets.example.com +Succeeded/)
  })

  test("waits for another one of the same kind, and fails where there is no such kind", async () => {
    await using cluster = await withOldObjects(1)
    await migrate(cluster, "one", "widgets")
    await migrate(cluster, "two", "widgets")
    await migrate(cluster, "none", "gadgets")
    await cluster.advance("2m")
    await cluster.settle()
    expect(Object.keys(await conditionsOf(cluster, "two"))).toContain("Succeeded")
    expect(await conditionsOf(cluster, "none")).toMatchObject({ Failed: "True resource does not exist in discovery" })
  })

  test("does not wait for one that is being deleted", async () => {
    // given one that waits for its finalizer, before it has run
    await using cluster = await withOldObjects(1)
    const metadata = { name: "going", finalizers: ["example.com/kept"] }
    await using away = await cluster.faults.crashed("controller-manager")
    await cluster.client.create(StorageVersionMigration, {
      metadata,
      spec: { resource: { group: "example.com", resource: "widgets" } },
    })
    await cluster.client.delete(StorageVersionMigration, { name: "going" })
    await migrate(cluster, "next", "widgets")
    // when
    await away.end()
    await cluster.advance("1m")
    // then
    expect(await conditionsOf(cluster, "next")).toMatchObject({ Succeeded: "True " })
  })

  test("costs no more when many others wait for the same kind", async () => {
    // given
    const count = 60
    await using cluster = await withOldObjects(1)
    const context = cluster.contextFor("migrator", ["system:masters"])
    let reconciles = 0
    const controller = storageVersionMigrator(() => [])
    const running = await startController(
      { ...controller, reconcile: () => Promise.resolve(void reconciles++) },
      context,
    )
    // when
    for (let i = 0; i < count; i++) await migrate(cluster, `m-${i}`, "widgets")
    await cluster.advance("5m")
    // then each change is a matter of its migration and of the next one
    const { items } = await cluster.client.list(StorageVersionMigration)
    const changes = cluster.history().filter(({ object }) => object.kind === StorageVersionMigration.kind).length
    expect(items.every(({ status }) => status.conditions?.some(({ type }) => type === "Succeeded"))).toBe(true)
    expect(changes).toBeGreaterThan(4 * count)
    expect(reconciles).toBeLessThan(2 * changes)
    await running.stop()
  })

  test("names a kind, which stays", async () => {
    await using cluster = await startCluster(SERVED)
    await expect(migrate(cluster, "m", "")).rejects.toThrow("spec.resource.resource: Required value")
    await expect(migrate(cluster, "m", "Pods", "")).rejects.toThrow("spec.resource.resource: Invalid value")
    const made = await migrate(cluster, "m", "configmaps", "")
    await expect(
      cluster.client.update(StorageVersionMigration, { ...made, spec: { resource: { group: "", resource: "pods" } } }),
    ).rejects.toThrow("field is immutable")
    await cluster.settle()
    expect(await conditionsOf(cluster, "m")).toMatchObject({ Succeeded: "True " })
  })
})

test("an update without a change stores a custom object in the version that is stored now", async () => {
  await using cluster = await withOldObjects(1)
  const before = await cluster.kubectl("get widget.v2.example.com w-0 -o yaml")
  const after = await cluster.kubectl(["replace", "-f", "-", "-o", "yaml"], { stdin: before.stdout })
  const version = (text: string) => /resourceVersion: "(\d+)"/.exec(text)?.[1]
  expect(version(after.stdout)).not.toBe(version(before.stdout))
})
