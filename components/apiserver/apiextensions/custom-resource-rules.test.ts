import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { json, startHttpServer, type Answer, type Call } from "../serving/http-server.fixtures.ts"
import { DEFINITIONS, version, definition, body, merge } from "./widgets.fixtures.ts"

/** An API server over HTTPS that serves Widgets, as clients see it. */
let server: Awaited<ReturnType<typeof startHttpServer>>
const call = (method: string, path: string, more?: Call): Promise<Answer> => server.call(method, path, more)
beforeAll(async () => {
  server = await startHttpServer()
  const created = await call("POST", DEFINITIONS, json(definition("widgets", "Widget", version("v1"))))
  expect(created.code).toBe(201)
})
afterAll(() => server.stop())

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
      title: "refer to fields that do not exist",
      given: { type: "object", properties: { a: { type: "integer" } }, ...rules({ rule: "self.b" }) },
      wants: "undefined field 'b'",
    },
    {
      title: "could exceed the cost limit",
      given: {
        type: "object",
        properties: { a: { type: "array", items: { type: "string" } } },
        ...rules({ rule: "self.a.all(x, self.a.all(y, x == y))" }),
      },
      wants: "estimated rule cost exceeds budget by factor of more than 100x",
    },
    {
      title: "compare with an oldSelf that cannot be correlated",
      given: {
        type: "object",
        properties: {
          a: { type: "array", maxItems: 2, items: { type: "integer", ...rules({ rule: "self == oldSelf" }) } },
        },
      },
      wants: "oldSelf cannot be used on the uncorrelatable portion of the schema within",
    },
  ])("that $title are refused when their definition is created", async ({ given, wants }) => {
    const answer = await call("POST", DEFINITIONS, json(definition("things", "Thing", ruled(given))))
    expect(answer.code).toBe(422)
    expect(body(answer).message).toContain(wants)
  })
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
      title: "beyond the range of a double",
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

  test("that are missing can be set through scale, but not removed through scale", async () => {
    await raw("POST", path, "{}")
    const empty = await call("PATCH", `${path}/a/scale`, merge({ metadata: { labels: { a: "b" } } }))
    expect([empty.code, body(empty).message]).toEqual([400, 'the spec replicas field ".spec.replicas" cannot be empty'])
    expect((await call("PATCH", `${path}/a/scale`, merge({ spec: { replicas: 3 } }))).code).toBe(200)
    expect(body(await call("GET", `${path}/a`)).spec).toEqual({ replicas: 3 })
  })
})
