import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { json, startHttpServer, type Answer, type Call } from "../serving/http-server.fixtures.ts"
import { DEFINITIONS, schema, version, definition, type Body, body, patch, merge } from "./widgets.fixtures.ts"

/** An API server over HTTPS that serves Widgets, as clients see it. */
let server: Awaited<ReturnType<typeof startHttpServer>>
const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"

const widget = (name: string, spec: object, more: object = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec,
  ...more,
})
const call = (method: string, path: string, more?: Call): Promise<Answer> => server.call(method, path, more)
beforeAll(async () => {
  server = await startHttpServer()
  const created = await call("POST", DEFINITIONS, json(definition("widgets", "Widget", version("v1"))))
  expect(created.code).toBe(201)
})
afterAll(() => server.stop())

describe("a definition", () => {
  test("is Established when the response to its creation arrives", async () => {
    const { status } = body(await call("GET", `${DEFINITIONS}/widgets.example.com`))
    expect(status).toMatchObject({
      acceptedNames: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      storedVersions: ["v1"],
      conditions: [
        { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
        {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        },
      ],
    })
  })

  test("whose names belong to another definition is not served until that one is deleted", async () => {
    // given a definition whose kind is taken
    const path = `${DEFINITIONS}/gadgets.example.com`
    await call("POST", DEFINITIONS, json(definition("gizmos", "Gizmo", version("v1"))))
    await call("POST", DEFINITIONS, json(definition("gadgets", "Gizmo", version("v1"))))
    expect(body(await call("GET", path)).status?.["conditions"]).toMatchObject([
      { type: "NamesAccepted", status: "False", reason: "ListKindConflict", message: '"GizmoList" is already in use' },
      { type: "Established", status: "False", reason: "NotAccepted" },
    ])
    expect((await call("GET", "/apis/example.com/v1/gadgets")).code).toBe(404)
    // when the other one goes
    await call("DELETE", `${DEFINITIONS}/gizmos.example.com`)
    for (let tries = 0; (await call("GET", "/apis/example.com/v1/gadgets")).code === 404; tries++)
      if (tries > 1000) throw new Error("gadgets are not served")
    // then it has the names
    expect(body(await call("GET", path)).status?.["conditions"]).toMatchObject([{ status: "True" }, { status: "True" }])
    await call("DELETE", path)
  })

  test.each<{ title: string; spec: object; wants: string }>([
    {
      title: "without a type",
      spec: { type: "object", properties: { spec: { properties: { a: { type: "string" } } } } },
      wants:
        "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for " +
        "specified object fields",
    },
    {
      title: "with a pattern that is no regular expression",
      spec: { type: "object", properties: { a: { type: "string", pattern: "(" } } },
      wants:
        'spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "(": must be a valid regular ' +
        "expression, but isn't: error parsing regexp: missing closing ): `(`",
    },
    {
      title: "with a default of another type",
      spec: { type: "object", properties: { a: { type: "string", default: 1 } } },
      wants:
        'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "integer":  in body must be of ' +
        'type string: "integer"',
    },
    {
      title: "with a list map key that is neither required nor has a default",
      spec: {
        type: "object",
        properties: {
          a: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            items: { type: "object", properties: { k: { type: "string" } } },
          },
        },
      },
      wants:
        "spec.validation.openAPIV3Schema.properties[a].items.properties[k].default: Required value: this " +
        "property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
    },
  ])("with a schema $title is refused", async ({ spec, wants }) => {
    const broken = definition("things", "Thing", { ...version("v1"), schema: { openAPIV3Schema: spec } })
    const { spec: given } = broken
    const plain = given.versions.map((each) => ({ ...each, subresources: undefined, selectableFields: undefined }))
    const answer = await call("POST", DEFINITIONS, json({ ...broken, spec: { ...given, versions: plain } }))
    expect(answer.code).toBe(422)
    expect(body(answer).message).toBe(
      `CustomResourceDefinition.apiextensions.k8s.io "things.example.com" is invalid: ${wants}`,
    )
  })
})

describe("a custom object", () => {
  test("is pruned and defaulted, and null stays where the schema allows it", async () => {
    const answer = await call(
      "POST",
      WIDGETS,
      json(
        widget(
          "pruned",
          {
            size: 3,
            unknown: 1,
            ports: [{ port: 80, x: 1 }],
            maybe: null,
            name: null,
            color: null,
            any: { x: [1, null] },
            either: "50%",
          },
          { status: { phase: "x" } },
        ),
      ),
    )
    expect(answer.code).toBe(201)
    expect(answer.headers["warning"]).toBe(
      '299 - "unknown field \\"spec.ports[0].x\\"", 299 - "unknown field \\"spec.unknown\\""',
    )
    const { spec, status, metadata } = body(answer)
    expect(spec).toEqual({
      size: 3,
      ports: [{ port: 80, protocol: "TCP" }],
      maybe: null,
      color: "red",
      any: { x: [1, null] },
      either: "50%",
      replicas: 1,
    })
    expect(status).toBeUndefined()
    expect(metadata["generation"]).toBe(1)
  })

  test.each<{ title: string; spec: object; wants: readonly string[] }>([
    { title: "a required field is missing", spec: {}, wants: ["spec.size: Required value"] },
    {
      title: "types, ranges, patterns and enums do not match",
      spec: { size: "x", color: "green", name: "ABC", labels: { a: 1 }, replicas: 1.5 },
      wants: [
        'spec.color: Unsupported value: "green": supported values: "red", "blue"',
        'spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
        "spec.name: Invalid value: \"ABC\": spec.name in body should match '^[a-z]+$'",
        'spec.replicas: Invalid value: "number": spec.replicas in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.replicas',
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64",
      ],
    },
    {
      title: "a number is out of range and a text too long",
      spec: { size: 11, name: "abcdef" },
      wants: [
        "spec.name: Too long: may not be more than 5 bytes",
        "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10",
      ],
    },
    {
      title: "an item of a set or a key of a list map is duplicate",
      spec: { size: 1, tags: ["a", "a"], ports: [{ port: 1 }, { port: 1 }] },
      wants: ['spec.tags[1]: Duplicate value: "a"', 'spec.ports[1]: Duplicate value: {"port":1}'],
    },
    {
      title: "an embedded resource has no kind",
      spec: { size: 1, template: { apiVersion: "v1" } },
      wants: ["spec.template.kind: Required value"],
    },
  ])("is refused where $title", async ({ spec, wants }) => {
    const answer = await call("POST", WIDGETS, json(widget("wrong", spec)))
    expect(answer.code).toBe(422)
    expect(body(answer).details.causes.map(({ field, message }) => `${field}: ${message}`)).toEqual([...wants])
  })

  test("with unknown fields is refused if fieldValidation is Strict", async () => {
    const answer = await call(
      "POST",
      `${WIDGETS}?fieldValidation=Strict`,
      json(widget("strict", { size: 1, a: { b: 1 } })),
    )
    expect(answer.code).toBe(400)
    expect(body(answer).message).toBe(
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.a"',
    )
  })

  test("can be updated although it has invalid fields, if the update does not change these", async () => {
    // given an object that a stricter schema would refuse
    await call("POST", DEFINITIONS, json(definition("loose", "Loose", { ...version("v1"), ...rangeOf(10) })))
    const path = "/apis/example.com/v1/namespaces/default/loose"
    const made = {
      apiVersion: "example.com/v1",
      kind: "Loose",
      metadata: { name: "a" },
      spec: { size: 9, color: "red" },
    }
    expect((await call("POST", path, json(made))).code).toBe(201)
    await call(
      "PATCH",
      `${DEFINITIONS}/loose.example.com`,
      merge({ spec: { versions: [{ ...version("v1"), ...rangeOf(5) }] } }),
    )
    // when something else changes, then it may; when the same changes to another wrong value, then it may not
    expect((await call("PATCH", `${path}/a`, merge({ spec: { color: "blue" } }))).code).toBe(200)
    expect((await call("PATCH", `${path}/a`, merge({ spec: { size: 8 } }))).code).toBe(422)
    await call("DELETE", `${DEFINITIONS}/loose.example.com`)
  })

  test("has its own subresources for status and scale", async () => {
    await call("POST", WIDGETS, json(widget("sized", { size: 1 })))
    const status = await call(
      "PATCH",
      `${WIDGETS}/sized/status`,
      merge({ status: { replicas: 4, selector: "a=b" }, spec: { size: 9 }, metadata: { labels: { a: "b" } } }),
    )
    expect(body(status)).toMatchObject({ spec: { size: 1 }, status: { replicas: 4 }, metadata: { generation: 1 } })
    expect(body(status).metadata["labels"]).toBeUndefined()
    const scaled = await call("PATCH", `${WIDGETS}/sized/scale`, merge({ spec: { replicas: 7 } }))
    expect(body(scaled)).toMatchObject({
      kind: "Scale",
      spec: { replicas: 7 },
      status: { replicas: 4, selector: "a=b" },
    })
    expect(body(await call("GET", `${WIDGETS}/sized`))).toMatchObject({
      spec: { replicas: 7 },
      metadata: { generation: 2 },
    })
  })

  test("is scaled by a Scale that names no version of it, and not by one that names an old version", async () => {
    const { metadata } = body(await call("POST", WIDGETS, json(widget("put", { size: 1, replicas: 1 }))))
    const scale = (replicas: number, more: object = {}) =>
      json({ apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "put", ...more }, spec: { replicas } })
    const put = await call("PUT", `${WIDGETS}/put/scale`, scale(7))
    expect([put.code, body(put)]).toMatchObject([200, { kind: "Scale", spec: { replicas: 7 } }])
    const old = { resourceVersion: metadata["resourceVersion"] }
    expect((await call("PUT", `${WIDGETS}/put/scale`, scale(8, old))).code).toBe(409)
    expect(body(await call("GET", `${WIDGETS}/put`))).toMatchObject({ spec: { replicas: 7 } })
  })

  test("takes no strategic merge patch of its scale, as of itself", async () => {
    await call("POST", WIDGETS, json(widget("strategic", { size: 1, replicas: 1 })))
    const sent = patch("strategic-merge-patch+json", { spec: { replicas: 2 } })
    for (const path of ["strategic", "strategic/scale"])
      expect((await call("PATCH", `${WIDGETS}/${path}`, sent)).code).toBe(415)
  })

  test("is merged by server-side apply as the list types of its schema say", async () => {
    const apply = (manager: string, spec: object): Promise<Answer> =>
      call("PATCH", `${WIDGETS}/applied?fieldManager=${manager}`, patch("apply-patch+yaml", widget("applied", spec)))
    expect((await apply("one", { size: 1, ports: [{ port: 1 }] })).code).toBe(201)
    const second = await apply("two", { ports: [{ port: 2, protocol: "UDP" }], tags: ["x"] })
    expect(body(second).spec).toMatchObject({
      size: 1,
      ports: [
        { port: 1, protocol: "TCP" },
        { port: 2, protocol: "UDP" },
      ],
    })
    expect(body(await apply("two", { size: 2 })).message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.size',
    )
    expect(body(await apply("two", { tags: ["x"] })).spec["ports"]).toEqual([{ port: 1, protocol: "TCP" }])
  })

  test("is selected by its definition's selectable fields, and shown in the definition's columns", async () => {
    await call("POST", WIDGETS, json(widget("blue", { size: 5, color: "blue" })))
    const found = await call("GET", `${WIDGETS}?fieldSelector=spec.color=blue`)
    expect((body(found)["items"] as Body[]).map(({ metadata }) => metadata["name"])).toEqual(["blue"])
    const refused = await call("GET", `${WIDGETS}?fieldSelector=spec.size=5`)
    expect(refused.code).toBe(400)
    const table = await call("GET", `${WIDGETS}/blue`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    })
    expect(JSON.parse(table.text)).toMatchObject({
      columnDefinitions: [{ name: "Name" }, { name: "Size" }],
      rows: [{ cells: ["blue", 5] }],
    })
  })

  test("gets defaults that were added to its definition after it was stored", async () => {
    await call("POST", DEFINITIONS, json(definition("later", "Later", { ...version("v1"), ...rangeOf(10) })))
    const path = "/apis/example.com/v1/namespaces/default/later"
    await call(
      "POST",
      path,
      json({ apiVersion: "example.com/v1", kind: "Later", metadata: { name: "a" }, spec: { size: 1 } }),
    )
    await call("PATCH", `${DEFINITIONS}/later.example.com`, merge({ spec: { versions: [version("v1")] } }))
    expect(body(await call("GET", `${path}/a`)).spec).toEqual({ size: 1, replicas: 1, color: "red" })
    expect((body(await call("GET", path))["items"] as Body[])[0]!.spec).toEqual({ size: 1, replicas: 1, color: "red" })
    await call("DELETE", `${DEFINITIONS}/later.example.com`)
  })
})

test("a definition with several versions serves its objects in each, and warns about deprecated versions", async () => {
  const versions = [
    { ...version("v1beta1"), storage: false, deprecated: true, selectableFields: [] },
    { ...version("v1"), ...rangeOf(10) },
  ]
  const created = await call("POST", DEFINITIONS, json(definition("both", "Both", ...versions)))
  expect(created.text).toContain("storedVersions")
  const made = { apiVersion: "example.com/v1", kind: "Both", metadata: { name: "a" }, spec: { size: 1 } }
  await call("POST", "/apis/example.com/v1/namespaces/default/both", json(made))
  const old = await call("GET", "/apis/example.com/v1beta1/namespaces/default/both/a")
  expect(old.headers["warning"]).toBe('299 - "example.com/v1beta1 Both is deprecated; use example.com/v1 Both"')
  // The defaults are those of the version that it was written in.
  expect(body(old).apiVersion).toBe("example.com/v1beta1")
  expect(body(old).spec).toEqual({ size: 1 })
  const beta = { ...made, apiVersion: "example.com/v1beta1", metadata: { name: "b" } }
  const written = await call("POST", "/apis/example.com/v1beta1/namespaces/default/both", json(beta))
  const read = await call("GET", "/apis/example.com/v1/namespaces/default/both/b")
  for (const answer of [written, read]) expect(body(answer).spec).toEqual({ size: 1, replicas: 1, color: "red" })
  for (const answer of [written, read, old]) expect(body(answer)).not.toHaveProperty("status")
  const group = body(await call("GET", "/apis/example.com"))
  expect(group["preferredVersion"]).toEqual({ groupVersion: "example.com/v1", version: "v1" })
  await call("DELETE", `${DEFINITIONS}/both.example.com`)
})

test("the deletion of a definition deletes its objects, and refuses new ones meanwhile", async () => {
  // given an object that a finalizer holds
  await call("POST", DEFINITIONS, json(definition("doomed", "Doomed", version("v1"))))
  const path = "/apis/example.com/v1/namespaces/default/doomed"
  const made = (name: string, finalizers: string[]) =>
    json({ apiVersion: "example.com/v1", kind: "Doomed", metadata: { name, finalizers }, spec: { size: 1 } })
  await call("POST", path, made("held", ["example.com/hold"]))
  await call("POST", path, made("free", []))
  // when the definition is deleted
  const deleted = body(await call("DELETE", `${DEFINITIONS}/doomed.example.com`))
  expect(deleted.metadata["finalizers"]).toEqual(["customresourcecleanup.apiextensions.k8s.io"])
  // then nothing new is made, and the last object to go lets the definition go
  const refused = await call("POST", path, made("new", []))
  expect(refused.code).toBe(403)
  expect(body(refused).message).toBe(
    'doomed.example.com "new" is forbidden: create not allowed while custom resource definition is terminating',
  )
  for (let tries = 0; (await call("GET", `${path}/free`)).code === 200; tries++)
    if (tries > 1000) throw new Error("it stays")
  expect((await call("GET", `${DEFINITIONS}/doomed.example.com`)).code).toBe(200)
  await call("PATCH", `${path}/held`, merge({ metadata: { finalizers: null } }))
  for (let tries = 0; (await call("GET", `${DEFINITIONS}/doomed.example.com`)).code === 200; tries++)
    if (tries > 1000) throw new Error("it stays")
  expect((await call("GET", path)).code).toBe(404)
})

/** A version whose size goes up to a number, without defaults. */
function rangeOf(maximum: number) {
  const { color: _color, replicas: _replicas, size: _size, ...others } = schema.properties.spec.properties
  const spec = {
    ...schema.properties.spec,
    properties: {
      ...others,
      size: { type: "integer", minimum: 1, maximum },
      replicas: { type: "integer" },
      color: { type: "string" },
    },
  }
  return { schema: { openAPIV3Schema: { ...schema, properties: { ...schema.properties, spec } } } }
}
