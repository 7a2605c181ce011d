/**
 * CustomResourceDefinitions and their objects over HTTP, and aggregated discovery. Source of the assertions:
 * aggregated_discovery.go, crd_watch.go, custom_resource_definition.go and field_validation.go in
 * test/e2e/apimachinery.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"
import { WANTED } from "./kinds/kinds.ts"
import { condition } from "./workloads/workload-cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster({ controllers: true })
  await cluster.until("/api/v1/namespaces/default/serviceaccounts/default", (account) => account !== undefined)
})
afterAll(() => cluster.stop())

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
let number = 0

/** Creates a definition of a new kind; resolves when the kind is served. */
async function define(schema: object = ANYTHING, more: object = {}) {
  const group = `group-${number++}.example.com`
  const name = `noxus.${group}`
  const made = await cluster.post(DEFINITIONS, {
    metadata: { name },
    spec: {
      group,
      scope: "Cluster",
      names: { plural: "noxus", singular: "noxu", kind: "Noxu", listKind: "NoxuList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more }],
    },
  })
  await cluster.until(`${DEFINITIONS}/${name}`, (found) => condition(found, "Established")?.status === "True")
  return { made, group, path: `/apis/${group}/v1/noxus`, definition: `${DEFINITIONS}/${name}` }
}

describe("discovery in one document", () => {
  const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
  const LEGACY = ["namespaces", "pods", "services"]
  interface Discovered {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources: readonly { readonly resource: string }[]
    }[]
  }
  /** Returns all resources under a path, as `group/version/resource`, and the content type of the answer. */
  async function discovered(path: string, accept = ACCEPT) {
    const answer = await cluster.send("GET", path, { accept })
    expect(answer.code).toBe(200)
    const names = (answer.body.items as unknown as readonly Discovered[]).flatMap(({ metadata, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources.map(({ resource }) => `${metadata.name ?? ""}/${version}/${resource}`),
      ),
    )
    return { names, body: answer.body, type: answer.headers["content-type"] }
  }

  test("AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers", async () => {
    const { names, body, type } = await discovered("/apis")
    expect([body.kind, body.apiVersion, type]).toEqual(["APIGroupDiscoveryList", "apidiscovery.k8s.io/v2", ACCEPT])
    expect(names).toEqual(expect.arrayContaining(WANTED.map((parts) => parts.join("/"))))
    const legacy = await discovered("/api")
    expect(legacy.names).toEqual(expect.arrayContaining(LEGACY.map((resource) => `/v1/${resource}`)))
  })

  test("AggregatedDiscovery should support aggregated discovery interface", async () => {
    // the Accept header of client-go: the newest aggregated form, or the old form if the server has none
    const accept = `${ACCEPT},${ACCEPT.replace("v2", "v2beta1")},application/json`
    const { names } = await discovered("/apis", accept)
    expect(names).toEqual(expect.arrayContaining(WANTED.map((parts) => parts.join("/"))))
    expect((await discovered("/api", accept)).names).toEqual(
      expect.arrayContaining(LEGACY.map((resource) => `/v1/${resource}`)),
    )
    // it has every group of the old form
    const { groups } = (await cluster.get("/apis")) as unknown as { groups: { name: string }[] }
    expect(new Set(names.map((name) => name.split("/")[0]!))).toEqual(new Set(groups.map(({ name }) => name)))
  })

  for (const [title, accept] of [
    ["AggregatedDiscovery should support raw aggregated discovery request for CRDs", ACCEPT],
    ["AggregatedDiscovery should support aggregated discovery interface for CRDs", `${ACCEPT},application/json`],
  ] as const)
    test(title, async () => {
      const { group } = await define()
      expect((await discovered("/apis", accept)).names).toContain(`${group}/v1/noxus`)
    })
})

describe("definitions", () => {
  const CREATE =
    "CustomResourceDefinition resources Simple CustomResourceDefinition creating/deleting custom resource definition objects works"
  test(CREATE, async () => {
    const { definition, path, made } = await define()
    expect(made.metadata.resourceVersion).not.toBe("")
    expect((await cluster.get(path)).items).toEqual([])
    await cluster.delete(definition)
    await cluster.until(definition, (found) => found === undefined)
    expect((await cluster.send("GET", path)).code).toBe(404)
  })

  test("CustomResourceDefinition resources Simple CustomResourceDefinition listing custom resource definition objects works", async () => {
    const selector = "labelSelector=e2e-list-test-uuid%3Dten"
    for (let i = 0; i < 10; i++) {
      const { definition } = await define()
      await cluster.patch(definition, "merge", { metadata: { labels: { "e2e-list-test-uuid": "ten" } } })
    }
    const { items } = await cluster.get(`${DEFINITIONS}?${selector}`)
    expect(items).toHaveLength(10)
    for (const item of items) {
      const { spec } = await cluster.get(`${DEFINITIONS}/${item.metadata.name}`)
      expect(item.spec).toEqual(spec)
    }
    await cluster.delete(`${DEFINITIONS}?${selector}`)
    await cluster.untilList(`${DEFINITIONS}?${selector}`, (left) => left.length === 0)
  })

  test("CustomResourceDefinition resources Simple CustomResourceDefinition getting/updating/patching custom resource definition status sub-resource works", async () => {
    const { definition } = await define()
    const found = await cluster.get(`${definition}/status`)
    expect(condition(found, "Established")?.status).toBe("True")
    const update = { type: "", status: "", reason: "", message: "updated", lastTransitionTime: null }
    const updated = await cluster.put(`${definition}/status`, {
      ...found,
      status: { ...found.status, conditions: [...found.status.conditions!, update] },
    })
    expect(updated.status.conditions!.map(({ message }) => message)).toContain("updated")
    const patched = await cluster.patch(`${definition}/status`, "json", [
      { op: "add", path: "/status/conditions", value: [{ message: "patched" }] },
    ])
    expect(patched.status.conditions!.map(({ message }) => message)).toContain("patched")
  })

  test("CustomResourceDefinition resources should include custom resource definition resources in discovery documents", async () => {
    const wanted = { groupVersion: "apiextensions.k8s.io/v1", version: "v1" }
    const { groups } = (await cluster.get("/apis")) as unknown as { groups: { name: string; versions: object[] }[] }
    expect(groups.find(({ name }) => name === "apiextensions.k8s.io")?.versions).toContainEqual(wanted)
    const group = (await cluster.get("/apis/apiextensions.k8s.io")) as unknown as { name: string; versions: object[] }
    expect([group.name, group.versions]).toEqual(["apiextensions.k8s.io", [wanted]])
    const list = (await cluster.get("/apis/apiextensions.k8s.io/v1")) as unknown as {
      groupVersion: string
      resources: { name: string }[]
    }
    expect(list.groupVersion).toBe("apiextensions.k8s.io/v1")
    expect(list.resources.map(({ name }) => name)).toContain("customresourcedefinitions")
  })

  test("CustomResourceDefinition resources custom resource defaulting for requests and from storage works", async () => {
    const { definition, path, group } = await define({
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
    })
    const create = (name: string) => cluster.post(path, { apiVersion: `${group}/v1`, kind: "Noxu", metadata: { name } })
    const properties = "/spec/versions/0/schema/openAPIV3Schema/properties"
    const first = await create("cr-1")
    expect(first["a"]).toBeUndefined()
    await cluster.patch(definition, "json", [{ op: "add", path: `${properties}/a/default`, value: "A" }])
    expect((await cluster.get(`${path}/cr-1`))["a"]).toBe("A")
    const second = await create("cr-2")
    expect(second["a"]).toBe("A")
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion))
    await cluster.patch(definition, "json", [
      { op: "remove", path: `${properties}/a/default` },
      { op: "add", path: `${properties}/b/default`, value: "B" },
    ])
    const now = await cluster.get(`${path}/cr-2`)
    expect([now["a"], now["b"]]).toEqual(["A", "B"])
  })

  test("CustomResourceDefinition Watch CustomResourceDefinition Watch watch on custom resource definition objects", async () => {
    const { path, group } = await define()
    const names = ["name1", "name2"]
    const watches = await Promise.all(
      names.map((name) => cluster.watch(`${path}?fieldSelector=metadata.name%3D${name}`)),
    )
    for (const [i, name] of names.entries()) {
      await cluster.post(path, {
        apiVersion: `${group}/v1`,
        kind: "Noxu",
        metadata: { name },
        content: { key: "value" },
      })
      await watches[i]!.until((events) => events.at(-1)?.type === "ADDED")
    }
    for (const [i, name] of names.entries()) {
      await cluster.patch(`${path}/${name}`, "merge", { dummy: "test" })
      const events = await watches[i]!.until((seen) => seen.at(-1)?.type === "MODIFIED")
      expect(events.at(-1)!.object["dummy"]).toBe("test")
    }
    for (const [i, name] of names.entries()) {
      await cluster.delete(`${path}/${name}`)
      const events = await watches[i]!.until((seen) => seen.at(-1)?.type === "DELETED")
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"])
      watches[i]!.close()
    }
  })
})

describe("field validation", () => {
  const port = {
    type: "object",
    required: ["containerPort", "protocol"],
    properties: {
      containerPort: { type: "integer", format: "int32" },
      hostIP: { type: "string" },
      hostPort: { type: "integer", format: "int32" },
      name: { type: "string" },
      protocol: { type: "string" },
    },
  }
  const SPEC = {
    foo: { type: "string" },
    cronSpec: { type: "string", pattern: String.raw`^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$` },
    ports: {
      type: "array",
      "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
      "x-kubernetes-list-type": "map",
      items: port,
    },
  }
  const SCHEMA = { type: "object", properties: { spec: { type: "object", properties: SPEC } } }
  const STRICT = "fieldManager=field_validation_mgr&fieldValidation=Strict"
  const yaml = (group: string, root = "", spec = "foo: foo1") =>
    `apiVersion: ${group}/v1\nkind: Noxu\nmetadata:\n  name: mytest\n${root}spec:\n  ${spec}\n  cronSpec: "* * * * */5"\n` +
    "  ports:\n  - name: x\n    containerPort: 80\n    protocol: TCP\n"
  const apply = (path: string, body: string) =>
    cluster.send("PATCH", `${path}/mytest?${STRICT}`, { body, type: "application/apply-patch+yaml" })
  const deployment = (metadata: string, spec: string) =>
    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"my-dep",${metadata}"labels":{"app":"nginx"}},` +
    `"spec":{${spec}"selector":{"matchLabels":{"app":"nginx"}},"template":{"metadata":{"labels":{"app":"nginx"}},` +
    '"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}'

  for (const { title, body, message } of [
    {
      title: "FieldValidation should detect unknown and duplicate fields of a typed object",
      body: deployment("", '"unknownField":"foo","replicas":2,"replicas":3,'),
      message: 'strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas"',
    },
    {
      title: "FieldValidation should detect unknown metadata fields of a typed object",
      body: deployment('"unknownMeta":"foo",', ""),
      message: 'strict decoding error: unknown field "metadata.unknownMeta"',
    },
  ])
    test(title, async () => {
      const answer = await cluster.send("POST", `/apis/apps/v1/namespaces/default/deployments?${STRICT}`, { body })
      expect([answer.code, answer.body.message]).toEqual([400, expect.stringContaining(message)])
    })

  test("FieldValidation should create/apply a valid CR for CRD with validation schema", async () => {
    const { path, group } = await define(SCHEMA)
    expect((await apply(path, yaml(group))).code).toBe(201)
  })

  test("FieldValidation should create/apply a CR with unknown fields for CRD with no validation schema", async () => {
    const { path, group } = await define()
    const answer = await apply(path, yaml(group, "", "unknown: uk1"))
    expect([answer.code, answer.body.spec]).toEqual([201, expect.objectContaining({ unknown: "uk1" })])
  })

  test("FieldValidation should create/apply an invalid CR with extra properties for CRD with validation schema", async () => {
    const { path, group } = await define(SCHEMA)
    const answer = await apply(path, yaml(group, "unknownField: unknown\n"))
    expect(answer.code).toBeGreaterThanOrEqual(400)
    expect(answer.text).toContain(".unknownField: field not declared in schema")
  })

  test("FieldValidation should detect unknown metadata fields in both the root and embedded object of a CR", async () => {
    const { path, group } = await define({
      type: "object",
      properties: {
        spec: {
          type: "object",
          "x-kubernetes-preserve-unknown-fields": true,
          properties: {
            template: {
              type: "object",
              "x-kubernetes-embedded-resource": true,
              properties: {
                metadata: { type: "object", properties: { name: { type: "string" } } },
                spec: { type: "object" },
              },
            },
            ...SPEC,
          },
        },
      },
    })
    const template = {
      apiVersion: "foo/v1",
      kind: "Sub",
      metadata: { unknownSubMeta: "unknown", name: "subobject" },
    }
    const answer = await cluster.send("POST", `${path}?${STRICT}`, {
      body: {
        apiVersion: `${group}/v1`,
        kind: "Noxu",
        metadata: { name: "mytest", unknownMeta: "unknown", resourceVersion: "1234" },
        spec: { template, foo: "foo1", cronSpec: "* * * * */5" },
      },
    })
    expect([answer.code, answer.text]).toEqual([
      400,
      expect.stringContaining('unknown field \\"metadata.unknownMeta\\"'),
    ])
    expect(answer.text).toContain('unknown field \\"spec.template.metadata.unknownSubMeta\\"')
  })

  test("FieldValidation should detect duplicates in a CR when preserving unknown fields", async () => {
    const { path, group } = await define({
      ...ANYTHING,
      properties: { spec: { ...ANYTHING, properties: SPEC } },
    })
    const body =
      `{"apiVersion":"${group}/v1","kind":"Noxu","metadata":{"name":"mytest","unknownMeta":"unknown"},"spec":` +
      '{"foo":"foo1","foo":"foo2","cronSpec":"* * * * */5"}}'
    const answer = await cluster.send("POST", `${path}?${STRICT}`, { body })
    expect([answer.code, answer.text]).toEqual([400, expect.stringContaining('duplicate field \\"spec.foo\\"')])
    expect(answer.text).toContain('unknown field \\"metadata.unknownMeta\\"')
  })
})
