import { expect, test } from "bun:test"
import { ConfigMap, Namespace, startCluster, type Cluster } from "../testing.ts"

/** A definition and, before it, an object that it declares. */
const MANIFESTS = `
apiVersion: example.com/v1
kind: Widget
metadata: { name: first }
spec: { size: 3 }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, kind: Widget }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: { size: { type: integer, minimum: 1 }, color: { type: string, default: red } }
              x-kubernetes-validations: [{ rule: self.size < 10 }]
`
const owned = (name: string, uid: string | undefined) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name,
    ownerReferences: [{ apiVersion: "example.com/v1", kind: "Widget", name: "first", uid }],
  },
})

async function life(cluster: Cluster): Promise<void> {
  const [first] = await cluster.apply(MANIFESTS)
  const Widget = cluster.kind("example.com/v1", "Widget")
  await cluster.apply(owned("child", first!.metadata.uid))
  await cluster.advance("1m")
  await cluster.delete(Widget, "first")
  await cluster.eventually(async () =>
    (await cluster.list(ConfigMap, { namespace: "default" })).every(({ metadata }) => metadata.name !== "child"),
  )
}

test("a definition and its objects are applied in one call, in any order", async () => {
  await using cluster = await startCluster({ seed: 1 })
  const [widget] = await cluster.apply(MANIFESTS)
  expect(widget).toMatchObject({ metadata: { namespace: "default" }, spec: { size: 3, color: "red" } })
})

test("the garbage collector deletes dependents of custom objects, whether they were created before or after the definition", async () => {
  await using cluster = await startCluster({ seed: 1 })
  await life(cluster)
})

test("deleting a namespace deletes its custom objects", async () => {
  await using cluster = await startCluster({ seed: 1 })
  await cluster.apply(MANIFESTS)
  const Widget = cluster.kind("example.com/v1", "Widget")
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } },
    {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "inside", namespace: "team" },
      spec: { size: 1 },
    },
  ])
  await cluster.delete(Namespace, "team")
  await cluster.eventually(async () =>
    (await cluster.list(Namespace)).every(({ metadata }) => metadata.name !== "team"),
  )
  expect(await cluster.list(Widget, { namespace: "team" })).toEqual([])
})

test("a cluster with custom resources has the same history with the same seed, byte for byte", async () => {
  const run = async (): Promise<string> => {
    await using cluster = await startCluster({ seed: 7 })
    await life(cluster)
    return JSON.stringify(cluster.history())
  }
  expect(await run()).toBe(await run())
})
