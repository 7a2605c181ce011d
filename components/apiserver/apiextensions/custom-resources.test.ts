import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { json, startHttpServer, type Answer, type Call } from "../http-server.fixtures.ts"

/** An API server over HTTPS that serves Widgets, as clients see it. */
let server: Awaited<ReturnType<typeof startHttpServer>>
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"

const port = {
  type: "object",
  required: ["port"],
  properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } },
}
const schema = {
  type: "object",
  description: "A widget.",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10 },
        replicas: { type: "integer", default: 1 },
        color: { type: "string", enum: ["red", "blue"], default: "red" },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port"],
          items: port,
        },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        either: { "x-kubernetes-int-or-string": true },
        maybe: { type: "string", nullable: true },
        labels: { type: "object", additionalProperties: { type: "string" } },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
    },
    status: {
      type: "object",
      properties: { replicas: { type: "integer" }, selector: { type: "string" }, phase: { type: "string" } },
    },
  },
}
const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  },
  additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  selectableFields: [{ jsonPath: ".spec.color" }],
  ...more,
})
const definition = (plural: string, kind: string, ...versions: object[]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: { group: "example.com", scope: "Namespaced", names: { plural, kind }, versions },
})
const widget = (name: string, spec: object, more: object = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec,
  ...more,
})
interface Body {
  readonly message: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
  readonly details: { readonly causes: readonly { readonly field: string; readonly message: string }[] }
  readonly [field: string]: unknown
}
const body = ({ text }: Answer): Body => JSON.parse(text) as Body
const call = (method: string, path: string, more?: Call): Promise<Answer> => server.call(method, path, more)
const patch = (type: string, value: unknown): Call => ({
  headers: { "content-type": `application/${type}` },
  body: JSON.stringify(value),
})
const merge = (value: unknown): Call => patch("merge-patch+json", value)

beforeAll(async () => {
  server = await startHttpServer()
  const created = await call("POST", DEFINITIONS, json(definition("widgets", "Widget", version("v1"))))
  expect(created.code).toBe(201)
})
afterAll(() => server.stop())

describe("a definition", () => {
  test("is Established as soon as its creation is answered", async () => {
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
      title: "with a pattern that is none",
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
      title: "with a key that may be missing",
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
    { title: "a field is missing", spec: {}, wants: ["spec.size: Required value"] },
    {
      title: "types, ranges, patterns and enums are not kept",
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
      title: "items are there twice",
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

  test("with unknown fields is refused where validation is Strict", async () => {
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

  test("may keep faults that the update does not touch", async () => {
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

  test("has a status and a size of their own", async () => {
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

  test("is merged by server-side apply as its schema says", async () => {
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

  test("is found by selectable fields and shown in its columns", async () => {
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

  test("gets defaults that were added to its definition later", async () => {
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

describe("rules in CEL", () => {
  const rules = (...given: object[]) => ({ "x-kubernetes-validations": given })
  const spec = {
    type: "object",
    properties: {
      size: { type: "integer", ...rules({ rule: "self > 0", reason: "FieldValueForbidden" }) },
      name: {
        type: "string",
        maxLength: 20,
        ...rules(
          { rule: "self == oldSelf", message: "immutable" },
          { rule: "self != 'x'", messageExpression: "'not ' + self" },
        ),
      },
      most: { type: "integer" },
    },
    ...rules(
      { rule: "!has(self.most) || self.size <= self.most", fieldPath: ".most", message: "most is the most" },
      { rule: "!oldSelf.hasValue() || has(self.most)", optionalOldSelf: true, message: "most must be there" },
    ),
  }
  const ruled = (of: object) => ({
    ...version("v1"),
    schema: { openAPIV3Schema: { type: "object", properties: { spec: of } } },
    selectableFields: [],
  })
  const path = "/apis/example.com/v1/namespaces/default/ruled"
  const made = (name: string, given: object) =>
    json({ apiVersion: "example.com/v1", kind: "Ruled", metadata: { name }, spec: given })
  const causesOf = (answer: Answer): string[] =>
    body(answer).details.causes.map(({ field, message }) => `${field}: ${message}`)

  beforeAll(async () => {
    expect((await call("POST", DEFINITIONS, json(definition("ruled", "Ruled", ruled(spec))))).code).toBe(201)
  })

  test("are evaluated for new objects", async () => {
    const answer = await call("POST", path, made("a", { size: 0, name: "x", most: -1 }))
    expect(causesOf(answer)).toEqual([
      "spec.most: Invalid value: most is the most",
      "spec.size: Forbidden: failed rule: self > 0",
      'spec.name: Invalid value: "x": not x',
    ])
  })

  test("with oldSelf are evaluated for updates only", async () => {
    expect((await call("POST", path, made("b", { size: 1, name: "one" }))).code).toBe(201)
    const answer = await call("PATCH", `${path}/b`, merge({ spec: { name: "two" } }))
    expect(causesOf(answer)).toEqual([
      "spec: Invalid value: most must be there",
      'spec.name: Invalid value: "two": immutable',
    ])
    expect((await call("PATCH", `${path}/b`, merge({ spec: { most: 2 } }))).code).toBe(200)
  })

  test("are not evaluated when a value has a wrong type", async () => {
    const answer = await call("POST", path, made("c", { size: "x" }))
    expect(causesOf(answer)).toEqual([
      'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    ])
  })

  test.each<{ title: string; given: object; wants: string }>([
    {
      title: "name fields that are not there",
      given: { type: "object", properties: { a: { type: "integer" } }, ...rules({ rule: "self.b" }) },
      wants: "undefined field 'b'",
    },
    {
      title: "could cost too much",
      given: {
        type: "object",
        properties: { a: { type: "array", items: { type: "string" } } },
        ...rules({ rule: "self.a.all(x, self.a.all(y, x == y))" }),
      },
      wants: "estimated rule cost exceeds budget by factor of more than 100x",
    },
    {
      title: "compare with an old value that cannot be found",
      given: {
        type: "object",
        properties: {
          a: { type: "array", maxItems: 2, items: { type: "integer", ...rules({ rule: "self == oldSelf" }) } },
        },
      },
      wants: "oldSelf cannot be used on the uncorrelatable portion of the schema within",
    },
  ])("that $title are refused with their definition", async ({ given, wants }) => {
    const answer = await call("POST", DEFINITIONS, json(definition("things", "Thing", ruled(given))))
    expect(answer.code).toBe(422)
    expect(body(answer).message).toContain(wants)
  })
})

test("a definition in several versions serves its objects in each, and warns of deprecated ones", async () => {
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
  expect(body(old)).toMatchObject({ apiVersion: "example.com/v1beta1", spec: { size: 1, replicas: 1, color: "red" } })
  const group = body(await call("GET", "/apis/example.com"))
  expect(group["preferredVersion"]).toEqual({ groupVersion: "example.com/v1", version: "v1" })
  await call("DELETE", `${DEFINITIONS}/both.example.com`)
})

test("the deletion of a definition deletes its objects, and none can be created meanwhile", async () => {
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

describe("numbers of custom objects", () => {
  const path = "/apis/example.com/v1/numbers"
  const raw = (method: string, to: string, spec: string, type = "application/json"): Promise<Answer> =>
    call(method, to, {
      headers: { "content-type": type },
      body: `{"apiVersion":"example.com/v1","kind":"Number","metadata":{"name":"a"},"spec":${spec}}`,
    })
  beforeAll(async () => {
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    const spec = { ...open, properties: { n: { type: "integer" }, m: { type: "integer", format: "int64" } } }
    const given = definition("numbers", "Number", {
      ...version("v1"),
      selectableFields: undefined,
      schema: { openAPIV3Schema: { type: "object", properties: { spec, status: open } } },
    })
    await call("POST", DEFINITIONS, json({ ...given, spec: { ...given.spec, scope: "Cluster" } }))
  })
  afterAll(() => call("DELETE", `${DEFINITIONS}/numbers.example.com`))

  test("stay exact within int64, through patches and server-side apply", async () => {
    const BIG = "9007199254740993"
    await raw("POST", path, `{"n":${BIG},"u":9223372036854775807}`)
    await raw("PATCH", `${path}/a`, `{"merged":${BIG}}`, "application/merge-patch+json")
    await raw("PATCH", `${path}/a?fieldManager=m`, `{"applied":[${BIG}]}`, "application/apply-patch+yaml")
    const copy = JSON.stringify([{ op: "copy", from: "/spec/n", path: "/spec/m" }])
    await call("PATCH", `${path}/a`, { headers: { "content-type": "application/json-patch+json" }, body: copy })
    const { text } = await call("GET", `${path}/a`)
    expect(text).toContain(`"spec":{"n":${BIG},"u":9223372036854775807,"merged":${BIG},"applied":[${BIG}],"m":${BIG}}`)
    await call("DELETE", `${path}/a`)
  })

  /** The words were told by Kubernetes 1.36.2. */
  test.each<{ title: string; given: string; code: number; wants: string }>([
    {
      title: "beyond int64",
      given: '{"m":9223372036854775808}',
      code: 422,
      wants:
        'Number.example.com "a" is invalid: [spec.m: Invalid value: "float64": spec.m in body must be of type int64',
    },
    {
      title: "beyond int64 without a format",
      given: '{"n":-9223372036854775809}',
      code: 422,
      wants:
        'Number.example.com "a" is invalid: [spec.n: Invalid value: "number": spec.n in body must be of type integer',
    },
    {
      title: "beyond all floats",
      given: '{"u":1e400}',
      code: 400,
      wants:
        'Number in version "v1" cannot be handled as a Number: json: cannot unmarshal number 1e400 into Go value of ' +
        "type float64",
    },
  ])("$title are refused", async ({ given, code, wants }) => {
    const answer = await raw("POST", path, given)
    expect([answer.code, body(answer).message.slice(0, wants.length)]).toEqual([code, wants])
  })

  test("that are missing can be set through scale, and not left out", async () => {
    await raw("POST", path, "{}")
    const empty = await call("PATCH", `${path}/a/scale`, merge({ metadata: { labels: { a: "b" } } }))
    expect([empty.code, body(empty).message]).toEqual([400, 'the spec replicas field ".spec.replicas" cannot be empty'])
    expect((await call("PATCH", `${path}/a/scale`, merge({ spec: { replicas: 3 } }))).code).toBe(200)
    expect(body(await call("GET", `${path}/a`)).spec).toEqual({ replicas: 3 })
  })
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
