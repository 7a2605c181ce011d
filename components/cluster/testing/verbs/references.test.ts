import { describe, expect, test } from "bun:test"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { web } from "../cluster.fixtures.ts"
import { inOrderOfNeed, readManifests } from "./manifests.ts"
import {
  ConfigMap,
  Deployment,
  Namespace,
  Node,
  Pod,
  startCluster,
  TestClusterError,
  type Cluster,
  type Reference,
} from "../testing.ts"

const POD = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default" } }
const spec = { containers: [{ name: "web", image: "nginx" }] }

/** Every form of a reference to one pod. */
const FORMS: Readonly<Record<string, Reference>> = {
  "a name": "web",
  "a name with its namespace": "default/web",
  "a reference": { namespace: "default", name: "web" },
  "a reference without a namespace": { name: "web" },
  "an object": POD,
}

/** Every method that is told which pod. */
const METHODS: Readonly<Record<string, (cluster: Cluster, pod: Reference) => Promise<unknown>>> = {
  get: (cluster, pod) => cluster.get(Pod, pod),
  find: async (cluster, pod) => expect(await cluster.find(Pod, pod)).toBeDefined(),
  delete: (cluster, pod) => cluster.delete(Pod, pod),
  explain: (cluster, pod) => cluster.explain(pod),
  logs: (cluster, pod) => cluster.logs(pod),
  container: async (cluster, pod) => expect(cluster.container(pod)).toBeDefined(),
  "client.get": (cluster, pod) => cluster.client.get(Pod, pod),
  "client.patch": (cluster, pod) => cluster.client.patch(Pod, pod, { type: "merge", body: { metadata: {} } }),
  "client.delete": (cluster, pod) => cluster.client.delete(Pod, pod),
  "client.createSubresource": (cluster, pod) =>
    cluster.client.createSubresource(Pod, pod, "eviction", { metadata: { name: "web" } }),
  "client.updateSubresource": async (cluster, pod) => {
    const current = (await cluster.find(Pod, "web")) ?? POD
    return cluster.client.updateSubresource(Pod, pod, "ephemeralcontainers", current)
  },
}

describe.each(Object.entries(METHODS))("%s", (_method, call) => {
  test.each(Object.entries(FORMS))("accepts %s", async (_form, reference) => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply({ ...POD, spec })
    await cluster.eventually(Pod, {}, ([pod]) => pod?.status.phase === "Running")
    // then it is about that pod
    await call(cluster, reference)
  })

  test.each<[Reference]>([[""], ["a/b/c"], [{}], [{ metadata: {} }]])(
    "refuses %j, which names no object",
    async (reference) => {
      await using cluster = await startCluster()
      const err = await Promise.resolve()
        .then(() => call(cluster, reference))
        .catch((thrown: unknown) => thrown)
      expect(err).toBeInstanceOf(TestClusterError)
      expect(String(err)).toContain("Cannot tell which Pod is meant")
    },
  )
})

describe("create and apply", () => {
  test("add the namespace, apiVersion and kind to the same object", async () => {
    // given
    await using cluster = await startCluster()
    // when
    const created = await cluster.client.create(ConfigMap, { metadata: { name: "created" } })
    await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" } })
    const patched = await cluster.client.patch(
      ConfigMap,
      "patched",
      { type: "apply", body: { metadata: { name: "patched" } } },
      { fieldManager: "test" },
    )
    // then
    const applied = await cluster.get(ConfigMap, "applied")
    for (const { apiVersion, kind, metadata } of [created, applied, patched])
      expect({ apiVersion, kind, namespace: metadata.namespace }).toEqual({
        apiVersion: "v1",
        kind: "ConfigMap",
        namespace: "default",
      })
  })

  test("keep a given namespace, and add none to cluster-scoped kinds", async () => {
    await using cluster = await startCluster()
    await cluster.client.create(Namespace, { metadata: { name: "team" } })
    const there = await cluster.client.create(ConfigMap, { metadata: { name: "a", namespace: "team" } })
    const node = await cluster.client.create(Node, { metadata: { name: "n" } })
    expect(there.metadata.namespace).toBe("team")
    expect(node.metadata.namespace).toBeUndefined()
  })

  test("update adds the namespace too", async () => {
    await using cluster = await startCluster()
    await cluster.client.create(ConfigMap, { metadata: { name: "a" } })
    const updated = await cluster.client.update(ConfigMap, { metadata: { name: "a" }, data: { b: "c" } })
    expect(updated.data).toEqual({ b: "c" })
  })
})

describe("a folder of manifests", () => {
  test("is applied with its namespaces first, and returns objects in the order of its files", async () => {
    // given a folder whose namespace comes last by name
    const folder = mkdtempSync(join(tmpdir(), "k3ts-manifests-"))
    writeFileSync(join(folder, "a.yaml"), JSON.stringify({ ...web(1), metadata: { name: "web", namespace: "team" } }))
    writeFileSync(join(folder, "z.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: { name: team }\n")
    // when
    await using cluster = await startCluster({ nodes: 1 })
    const applied = await cluster.apply(folder)
    // then
    expect(applied.map(({ kind }) => kind)).toEqual(["Deployment", "Namespace"])
    expect(await cluster.find(Deployment, "team/web")).toBeDefined()
  })

  const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } }
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: { group: "example.com", names: { kind: "Widget" }, versions: [{ name: "v1" }] },
  }
  /** Serves what is not Widget. */
  const served = (_apiVersion: string, kind: string) => (kind === "Widget" ? undefined : Pod)

  test("is applied with definitions of kinds after namespaces and before their objects", () => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } }
    const manifests = readManifests([widget, definition, namespace], served)
    expect(inOrderOfNeed(manifests).map(({ object }) => object.kind)).toEqual([
      "Namespace",
      "CustomResourceDefinition",
      "Widget",
    ])
  })

  test("is refused as a whole if a kind is neither served nor defined in the folder", () => {
    expect(() => readManifests([definition, { ...widget, kind: "Gadget" }], () => undefined)).toThrow(
      'no kind "CustomResourceDefinition" is served',
    )
    expect(() => readManifests([widget], served)).toThrow('no kind "Widget" is served in "example.com/v1"')
  })
})
