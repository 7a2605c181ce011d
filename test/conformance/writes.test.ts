/** How the HTTP API answers writes that are wrong or only tried. Source of the assertions: test/e2e/apimachinery. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"
import { openEnvelope } from "../../pkg/apimachinery/protobuf/envelope.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "m" } })
  await cluster.post("/api/v1/namespaces/m/serviceaccounts", { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

const CONFIGMAPS = "/api/v1/namespaces/m/configmaps"

describe("field validation", () => {
  const deployment = (spec: string, metadata = "") =>
    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"my-dep",${metadata}"labels":{"app":"nginx"}},"spec":{${spec}"selector":{"matchLabels":{"app":"nginx"}},"template":{"metadata":{"labels":{"app":"nginx"}},"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}`
  const post = (body: string, type = "application/json", validation = "Strict") =>
    cluster.send(
      "POST",
      `/apis/apps/v1/namespaces/m/deployments?dryRun=All&fieldManager=field_validation_mgr&fieldValidation=${validation}`,
      { body, type },
    )

  test("finds unknown and duplicate fields, in the order of the document", async () => {
    const { code, body } = await post(deployment('"unknownField":"foo","replicas":2,"replicas":3,'))
    expect([code, body.message]).toEqual([
      400,
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field ' +
        '"spec.unknownField", duplicate field "spec.replicas"',
    ])
    const yaml = await post(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: my-dep\n  labels:\n    app: nginx\nspec:\n  " +
        "unknownField: foo\n  replicas: 2\n  replicas: 3\n  selector:\n    matchLabels:\n      app: nginx\n  " +
        "template:\n    metadata:\n      labels:\n        app: nginx\n    spec:\n      containers:\n      - " +
        "name: nginx\n        image: nginx:latest\n",
      "application/yaml",
    )
    expect(yaml.code).toBe(400)
    expect(yaml.body.message).toContain('key "replicas" already set in map')
    expect(yaml.body.message).toContain('unknown field "spec.unknownField"')
  })

  test("finds unknown metadata, and fields of lists by their index", async () => {
    expect((await post(deployment("", '"unknownMeta":"foo",'))).body.message).toContain(
      'strict decoding error: unknown field "metadata.unknownMeta"',
    )
    expect(
      (await post(deployment("").replace('"image"', '"imagePullPolice":"Always","image"'))).body.message,
    ).toContain('unknown field "spec.template.spec.containers[0].imagePullPolice"')
  })

  test("warns or ignores on request, also for patches and applies", async () => {
    const warned = await post(deployment('"unknownField":"foo",'), "application/json", "Warn")
    expect([warned.code, warned.headers["warning"]]).toEqual([201, '299 - "unknown field \\"spec.unknownField\\""'])
    expect(
      (await post(deployment('"unknownField":"foo",'), "application/json", "Ignore")).headers["warning"],
    ).toBeUndefined()
    await cluster.post("/apis/apps/v1/namespaces/m/deployments", JSON.parse(deployment('"replicas":0,')) as unknown)
    const path = "/apis/apps/v1/namespaces/m/deployments/my-dep?fieldValidation=Strict&fieldManager=mgr&dryRun=All"
    const patch = (type: string, body: string) => cluster.send("PATCH", path, { type, body })
    expect((await patch("application/merge-patch+json", '{"spec":{"foo":1}}')).body.message).toContain(
      'unknown field "spec.foo"',
    )
    expect(
      (await patch("application/strategic-merge-patch+json", '{"spec":{"foo":1,"replicas":1,"replicas":2}}')).body
        .message,
    ).toMatch(/strict decoding error: .*(unknown field "spec.foo"|duplicate field "spec.replicas")/)
    expect(
      (await patch("application/json-patch+json", '[{"op":"add","path":"/spec/foo","value":1}]')).body.message,
    ).toContain('unknown field "spec.foo"')
    expect((await patch("application/apply-patch+yaml", deployment('"foo":1,'))).body.message).toMatch(
      /\.spec\.foo: field not declared in schema/,
    )
  })
})

describe("errors", () => {
  test("come in protobuf to clients that accept nothing else", async () => {
    const answer = await cluster.send("GET", `${CONFIGMAPS}/none`, { accept: "application/vnd.kubernetes.protobuf" })
    expect([answer.code, answer.headers["content-type"]]).toEqual([404, "application/vnd.kubernetes.protobuf"])
    expect(openEnvelope(answer.bytes)).toMatchObject({ apiVersion: "v1", kind: "Status" })
    expect((await cluster.send("GET", `${CONFIGMAPS}/none`, { accept: "application/yaml" })).text).toContain(
      "reason: NotFound\n",
    )
  })

  test("of a list and a create have Kubernetes' messages", async () => {
    expect<unknown>((await cluster.send("GET", `${CONFIGMAPS}/none`)).body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'configmaps "none" not found',
      reason: "NotFound",
      details: { name: "none", kind: "configmaps" },
      code: 404,
    })
    expect((await cluster.send("GET", "/apis/apps/v1/namespaces/m/deployments/none")).body).toMatchObject({
      message: 'deployments.apps "none" not found',
      details: { name: "none", group: "apps", kind: "deployments" },
    })
    await cluster.post(CONFIGMAPS, { metadata: { name: "twice" } })
    expect((await cluster.send("POST", CONFIGMAPS, { body: { metadata: { name: "twice" } } })).body).toMatchObject({
      message: 'configmaps "twice" already exists',
      details: { name: "twice", kind: "configmaps" },
    })
    expect(
      (await cluster.send("POST", "/api/v1/namespaces/absent/configmaps", { body: { metadata: { name: "a" } } })).body,
    ).toMatchObject({ code: 404, message: 'namespaces "absent" not found' })
    expect(
      (
        await cluster.send("PUT", `${CONFIGMAPS}/twice`, {
          body: { metadata: { name: "twice", resourceVersion: "1" } },
        })
      ).body.message,
    ).toBe(
      'Operation cannot be fulfilled on configmaps "twice": the object has been modified; please apply your ' +
        "changes to the latest version and try again",
    )
    expect(
      (await cluster.send("POST", CONFIGMAPS, { body: { metadata: { name: "a", namespace: "other" } } })).body,
    ).toMatchObject({
      code: 400,
      message: "the namespace of the provided object does not match the namespace sent on the request",
    })
    expect(
      (await cluster.send("PUT", `${CONFIGMAPS}/twice`, { body: { metadata: { name: "other" } } })).body,
    ).toMatchObject({ code: 400, message: "the name of the object (other) does not match the name on the URL (twice)" })
    const unnamed = { type: "application/apply-patch+yaml", body: { apiVersion: "v1", kind: "ConfigMap" } }
    expect((await cluster.send("PATCH", `${CONFIGMAPS}/fresh?fieldManager=m`, unnamed)).body).toMatchObject({
      code: 400,
      message: "the name of the object (fresh based on URL) was undeterminable: name must be provided",
    })
    expect((await cluster.send("DELETE", `${CONFIGMAPS}/twice`)).body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "twice", kind: "configmaps" },
    })
  })
})

describe("dry runs", () => {
  test("answer like real writes, and store nothing", async () => {
    const made = await cluster.ok("POST", `${CONFIGMAPS}?dryRun=All`, {
      body: { metadata: { generateName: "dry-" }, data: { a: "1" } },
    })
    expect([typeof made.metadata.uid, made.metadata.name.startsWith("dry-")]).toEqual(["string", true])
    await cluster.post(CONFIGMAPS, { metadata: { name: "dry" }, data: { a: "1" } })
    for (const [method, type, body] of [
      ["PATCH", "application/merge-patch+json", { data: { a: "2" } }],
      ["PUT", "application/json", { metadata: { name: "dry" }, data: { a: "2" } }],
      ["PATCH", "application/apply-patch+yaml", { apiVersion: "v1", kind: "ConfigMap", data: { b: "2" } }],
    ] as const)
      expect((await cluster.send(method, `${CONFIGMAPS}/dry?dryRun=All&fieldManager=dry`, { type, body })).code).toBe(
        200,
      )
    await cluster.ok("DELETE", `${CONFIGMAPS}/dry?dryRun=All`)
    await cluster.ok("DELETE", `${CONFIGMAPS}?dryRun=All`)
    expect((await cluster.get(`${CONFIGMAPS}/dry`)).data).toEqual({ a: "1" })
  })
})
