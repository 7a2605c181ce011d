import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { startHttpServer, type Answer } from "../../serving/http-server.fixtures.ts"
import type { WebhookCaller } from "../../webhooks/webhook-caller.ts"
import type { ConversionReview } from "../../webhooks/review.ts"
import {
  converted,
  FAILURES,
  GROUP,
  tracing,
  withMetadata,
  withResponse,
  type CustomObject,
  type Loose,
  type Reply,
} from "./replies.fixtures.ts"

/** An API server whose webhooks are functions of the test, which answer whole reviews. */
let server: Awaited<ReturnType<typeof startHttpServer>>
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

let reply: Reply
/** The objects of each review, and the version that was asked for. */
let asked: { readonly count: number; readonly to: string }[] = []
const caller: WebhookCaller = {
  call: (_config, review) => {
    const { request } = review as ConversionReview
    asked.push({ count: request.objects.length, to: request.desiredAPIVersion.split("/")[1]! })
    return Promise.resolve(JSON.parse(JSON.stringify(reply(review as ConversionReview))) as unknown)
  },
}

const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
const definition = (plural: string, kind: string, more: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: { plural, kind },
    versions: ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: { openAPIV3Schema: OPEN },
      subresources: {
        status: {},
        scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
      },
    })),
    conversion: {
      strategy: "Webhook",
      webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://webhook.example/convert" } },
    },
    ...more,
  },
})
const path = (version: string, name = "", plural = "foos"): string =>
  `/apis/${GROUP}/${version}/namespaces/default/${plural}${name === "" ? "" : `/${name}`}`
const foo = (version: string, name: string, more: object = {}) => ({
  apiVersion: `${GROUP}/${version}`,
  kind: "Foo",
  metadata: { name },
  spec: { a: 1 },
  ...more,
})
const call = (method: string, to: string, body?: object, type = "application/json"): Promise<Answer> =>
  server.call(method, to, body === undefined ? {} : { headers: { "content-type": type }, body: JSON.stringify(body) })
const body = ({ text }: Answer) =>
  JSON.parse(text) as {
    readonly message: string
    readonly apiVersion: string
    readonly metadata: Loose
    readonly spec: Loose
    readonly items: readonly CustomObject[]
  }
const told = (answer: Answer) => [answer.code, body(answer).message]

beforeAll(async () => {
  reply = tracing
  server = await startHttpServer({ webhooks: () => caller })
  expect((await call("POST", DEFINITIONS, definition("foos", "Foo"))).code).toBe(201)
})
beforeEach(() => {
  reply = tracing
  asked = []
})
afterAll(() => server.stop())

describe("objects of a definition with a conversion webhook", () => {
  test("are converted to the stored version when they are written, and back when they are read", async () => {
    // given
    const written = await call("POST", path("v2"), foo("v2", "round-trip"))
    // then
    expect([written.code, body(written).apiVersion, body(written).spec]).toEqual([
      201,
      `${GROUP}/v2`,
      { a: 1, via: ["v1", "v2"] },
    ])
    expect(asked).toEqual([
      { count: 1, to: "v1" },
      { count: 1, to: "v2" },
    ])
    expect(body(await call("GET", path("v1", "round-trip"))).spec).toEqual({ a: 1, via: ["v1"] })
    await call("DELETE", path("v1", "round-trip"))
  })

  test("are converted for dry runs too, and a failure of the webhook fails the dry run", async () => {
    // given
    const dry = (name: string) => call("POST", `${path("v2")}?dryRun=All`, foo("v2", name))
    const created = await dry("dry")
    expect([created.code, body(created).spec]).toEqual([201, { a: 1, via: ["v1", "v2"] }])
    await call("POST", path("v1"), foo("v1", "dry"))
    // when
    const merge = "application/merge-patch+json"
    const updated = await call("PATCH", `${path("v2", "dry")}?dryRun=All`, { spec: { b: 1 } }, merge)
    // then
    expect([updated.code, body(updated).spec]).toEqual([200, { a: 1, b: 1, via: ["v2", "v1", "v2"] }])
    expect(body(await call("GET", path("v1", "dry"))).spec).toEqual({ a: 1 })
    reply = (review) => withResponse(review, { result: { status: "Failure", message: "no way back" } })
    expect((await dry("other")).code).toBe(500)
    await call("DELETE", path("v1", "dry"))
  })

  test("in the storage version need no conversion", async () => {
    await call("POST", path("v1"), foo("v1", "stored"))
    await call("PATCH", path("v1", "stored"), { spec: { b: 1 } }, "application/merge-patch+json")
    await call("GET", path("v1"))
    await call("DELETE", path("v1", "stored"))
    expect(asked).toEqual([])
  })

  test("are converted for a list in one call of the webhook", async () => {
    for (const name of ["a", "b", "c"]) await call("POST", path("v1"), foo("v1", name))
    const list = body(await call("GET", path("v2")))
    await call("GET", path("v2"))
    expect(list.items.map(({ apiVersion, spec }) => [apiVersion, spec])).toEqual(
      Array(3).fill([`${GROUP}/v2`, { a: 1, via: ["v2"] }]),
    )
    expect(asked).toEqual([{ count: 3, to: "v2" }])
    expect((await call("DELETE", path("v2"))).code).toBe(200)
  })

  test("are converted only for the page of the list that was requested", async () => {
    for (const name of ["a", "b", "c"]) await call("POST", path("v1"), foo("v1", name))
    const list = body(await call("GET", `${path("v2")}?limit=2`))
    expect([list.items.length, list.metadata["remainingItemCount"], asked]).toEqual([2, 1, [{ count: 2, to: "v2" }]])
    await call("DELETE", path("v1"))
  })

  test("are patched, applied, scaled and given a status in the version of the request", async () => {
    reply = (review) => converted(review)
    await call("POST", path("v1"), foo("v1", "web"))
    const at = path("v2", "web")
    const merge = "application/merge-patch+json"
    expect((await call("PATCH", at, { spec: { replicas: 2 } }, merge)).code).toBe(200)
    expect((await call("PATCH", `${at}/status`, { status: { replicas: 2 } }, merge)).code).toBe(200)
    expect((await call("PATCH", `${at}/scale`, { spec: { replicas: 3 } }, merge)).code).toBe(200)
    const applied = await call(
      "PATCH",
      `${at}?fieldManager=test`,
      foo("v2", "web", { spec: { color: "red" } }),
      "application/apply-patch+yaml",
    )
    expect(applied.code).toBe(200)
    const { spec, status } = body(await call("GET", path("v1", "web"))) as unknown as CustomObject
    expect({ spec, status }).toEqual({ spec: { a: 1, replicas: 3, color: "red" }, status: { replicas: 2 } })
    const managers = body(await call("GET", at)).metadata["managedFields"] as readonly Loose[]
    expect(new Set(managers.map(({ apiVersion }) => apiVersion))).toEqual(new Set([`${GROUP}/v1`, `${GROUP}/v2`]))
    await call("DELETE", at)
  })

  test("keep all metadata but labels and annotations, whatever the webhook returns", async () => {
    await call("POST", path("v1"), foo("v1", "kept", { metadata: { name: "kept", labels: { old: "1" } } }))
    reply = (review) =>
      withMetadata(review, { labels: { n: "1" }, annotations: { m: "2" }, finalizers: ["x/y"], generation: 99 })
    const { metadata } = body(await call("GET", path("v2", "kept")))
    expect(metadata).toMatchObject({ labels: { n: "1" }, annotations: { m: "2" }, generation: 1 })
    expect(metadata["finalizers"]).toBeUndefined()
    await call("DELETE", path("v1", "kept"))
  })

  test("keep integers that JavaScript would round", async () => {
    await server.call("POST", path("v1"), {
      headers: { "content-type": "application/json" },
      body: `{"apiVersion":"${GROUP}/v1","kind":"Foo","metadata":{"name":"big"},"spec":{"n":9007199254740993}}`,
    })
    const sent: string[] = []
    reply = (review) => {
      sent.push(JSON.stringify(review))
      return tracing(review)
    }
    await call("GET", path("v2", "big"))
    expect(sent[0]).toContain("9007199254740993")
    await call("DELETE", path("v1", "big"))
  })
})

describe("a conversion webhook that", () => {
  beforeAll(async () => {
    reply = tracing
    await call("POST", path("v1"), foo("v1", "a"))
  })
  afterAll(() => call("DELETE", path("v1", "a")))

  test.each(FAILURES)("$title is reported with upstream's message", async ({ given, wants }) => {
    reply = given
    const [code, message] = told(await call("GET", path("v2", "a")))
    expect([code, String(message).replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/, "UID")]).toEqual([
      500,
      `conversion webhook for ${GROUP}/v1, Kind=Foo ${wants}`,
    ])
  })

  test.each<{ title: string; given: unknown; wants: string }>([
    { title: "an object is null", given: null, wants: "unexpected end of JSON input" },
    {
      title: "an object is text",
      given: "x",
      wants: "json: cannot unmarshal string into Go value of type map[string]interface {}",
    },
  ])(
    "returns converted objects of which $title is reported with the JSON decoder's message only",
    async ({ given, wants }) => {
      reply = (review) => withResponse(review, { convertedObjects: [given] })
      expect(told(await call("GET", path("v2", "a")))).toEqual([500, wants])
    },
  )

  test("fails does not affect requests that need no conversion", async () => {
    reply = FAILURES[0]!.given
    expect((await call("POST", path("v1"), foo("v1", "b"))).code).toBe(201)
    expect((await call("GET", path("v1"))).code).toBe(200)
    expect((await call("DELETE", path("v1", "b"))).code).toBe(200)
  })

  test("fails prevents the write of an object that must be converted", async () => {
    reply = FAILURES[0]!.given
    const why = `conversion webhook for ${GROUP}/v2, Kind=Foo failed: no way`
    expect(told(await call("POST", path("v2"), foo("v2", "c")))).toEqual([500, why])
    expect((await call("GET", path("v1", "c"))).code).toBe(404)
  })

  test("fails and recovers is counted by metrics with upstream's names", async () => {
    const { text } = await call("GET", "/metrics")
    expect(text).toMatch(
      /apiserver_conversion_webhook_request_total\{failure_type="conversion_webhook_malformed_response_failure",result="failure"\} \d/,
    )
    expect(text).toMatch(
      /apiserver_crd_conversion_webhook_duration_seconds_count\{crd_name="foos.conversion.example.com",from_version="v1",succeeded="true",to_version="v2"\} \d/,
    )
  })
})

test("a webhook is given the defaults of the version of an object; what it returns is pruned and gets none", async () => {
  // given
  const schemaOf = (name: string) => ({
    type: "object",
    properties: {
      spec: { type: "object", properties: { a: { type: "integer" }, [name]: { type: "string", default: "d" } } },
    },
  })
  const { versions } = definition("defaulted", "Defaulted").spec
  const withDefaults = versions.map((one) => ({ ...one, schema: { openAPIV3Schema: schemaOf(`only${one.name}`) } }))
  await call("POST", DEFINITIONS, definition("defaulted", "Defaulted", { versions: withDefaults }))
  const reviews: ConversionReview[] = []
  reply = (review) => {
    reviews.push(review)
    return converted(review, (object) => ({ ...object, spec: { ...object.spec, unknown: "x" } }))
  }
  // when
  await call("POST", path("v1", "", "defaulted"), { ...foo("v1", "a"), kind: "Defaulted" })
  await call("POST", path("v2", "", "defaulted"), { ...foo("v2", "b"), kind: "Defaulted" })
  const answers = await Promise.all(["a", "b"].map((name) => call("GET", path("v2", name, "defaulted"))))
  // then
  expect(answers.map((answer) => body(answer).spec)).toEqual([{ a: 1 }, { a: 1 }])
  const sent = reviews.flatMap(({ request: { desiredAPIVersion, objects } }) =>
    (objects as unknown as readonly CustomObject[]).map(({ spec }) => JSON.stringify([desiredAPIVersion, spec])),
  )
  expect([...new Set(sent)].map((text) => JSON.parse(text) as unknown)).toEqual([
    [`${GROUP}/v1`, { a: 1, onlyv2: "d" }],
    [`${GROUP}/v2`, { a: 1, onlyv1: "d" }],
  ])
  // and a review says what upstream's says: no revision, and an empty response
  const revisions = reviews.flatMap(({ request }) => request.objects.map(({ metadata }) => metadata.resourceVersion))
  expect(new Set(revisions)).toEqual(new Set([undefined]))
  expect(reviews[0]!.response).toEqual({ uid: "", convertedObjects: null, result: { metadata: {} } })
  await call("DELETE", `${DEFINITIONS}/defaulted.${GROUP}`)
})

describe("the storage version", () => {
  test("of a definition can change, and objects that were stored before are converted when they are read", async () => {
    // given an object in v1
    await call("POST", DEFINITIONS, definition("moved", "Foo2", { names: { plural: "moved", kind: "Foo2" } }))
    await call("POST", path("v1", "", "moved"), { ...foo("v1", "old"), kind: "Foo2" })
    // when v2 is stored
    const versions = definition("moved", "Foo2").spec.versions.map((each) => ({
      ...each,
      storage: each.name === "v2",
    }))
    const at = `${DEFINITIONS}/moved.${GROUP}`
    const patched = await call("PATCH", at, { spec: { versions } }, "application/merge-patch+json")
    expect((patched as unknown as { code: number }).code).toBe(200)
    // then
    expect((body(await call("GET", at)) as unknown as { status: Loose }).status["storedVersions"]).toEqual(["v1", "v2"])
    expect(body(await call("GET", path("v1", "old", "moved"))).spec).toEqual({ a: 1 })
    expect(body(await call("GET", path("v2", "old", "moved"))).spec).toEqual({ a: 1, via: ["v2"] })
    await call("PATCH", path("v2", "old", "moved"), { spec: { b: 1 } }, "application/merge-patch+json")
    asked = []
    expect(body(await call("GET", path("v2", "old", "moved"))).spec).toEqual({ a: 1, b: 1, via: ["v2"] })
    expect(asked).toEqual([])
    await call("DELETE", at)
  })
})

describe("a definition whose conversion webhook is gone is deleted with its objects", () => {
  const untilGone = async (name: string): Promise<void> => {
    // Each read comes after the writes before it, so the last one is at the latest when the finalizer has let go.
    while ((await call("GET", `${DEFINITIONS}/${name}`)).code !== 404) await Bun.sleep(5)
  }
  const gone: Reply = () => {
    throw new Error("connection refused")
  }

  test("that are stored in a version that is not the preferred one", async () => {
    // given objects of v1, while clients prefer v2
    await call("POST", DEFINITIONS, definition("bars", "Bar"))
    for (const name of ["a", "b"]) await call("POST", path("v1", "", "bars"), { ...foo("v1", name), kind: "Bar" })
    reply = gone
    // when
    await call("DELETE", `${DEFINITIONS}/bars.${GROUP}`)
    await untilGone(`bars.${GROUP}`)
    // then
    expect(asked).toEqual([])
  })

  test("that are stored in several versions", async () => {
    // given an object of v1, and one of v2, which became the storage version
    await call("POST", DEFINITIONS, definition("bazs", "Baz"))
    await call("POST", path("v1", "", "bazs"), { ...foo("v1", "old"), kind: "Baz" })
    const { spec } = JSON.parse((await call("GET", `${DEFINITIONS}/bazs.${GROUP}`)).text) as {
      readonly spec: { readonly versions: readonly Loose[] }
    }
    const versions = spec.versions.map((one) => ({ ...one, storage: one["name"] === "v2" }))
    await call("PATCH", `${DEFINITIONS}/bazs.${GROUP}`, { spec: { versions } }, "application/merge-patch+json")
    expect((await call("POST", path("v2", "", "bazs"), { ...foo("v2", "new"), kind: "Baz" })).code).toBe(201)
    reply = gone
    asked = []
    // when
    await call("DELETE", `${DEFINITIONS}/bazs.${GROUP}`)
    await untilGone(`bazs.${GROUP}`)
    // then
    expect(asked).toEqual([])
  })
})

test("lists and watches are refused as by a server whose watch cache is being filled while the webhook fails", async () => {
  // given
  await call("POST", DEFINITIONS, definition("quxes", "Qux"))
  await call("POST", path("v1", "", "quxes"), { ...foo("v1", "a"), kind: "Qux" })
  const all = path("v2", "", "quxes")
  reply = () => {
    throw new Error("connection refused")
  }
  // when
  const queries = ["", "?limit=5&labelSelector=a%3Db", "?watch=1", "?watch=1&resourceVersion=1", "?resourceVersion=0"]
  const answers = await Promise.all(queries.map((query) => call("GET", all + query)))
  // then
  const why = `conversion webhook for ${GROUP}/v1, Kind=Qux failed: connection refused`
  const refusal = [429, `storage is (re)initializing: failed to list ${GROUP}/v2, Kind=Qux: ${why}`]
  expect(answers.map(told)).toEqual(queries.map(() => refusal))
  expect(answers.map(({ headers }) => headers["retry-after"])).toEqual(queries.map(() => "1"))
  // and a page, which upstream reads from etcd, tells the failure itself, as does an object
  for (const to of [`${all}?limit=5`, path("v2", "a", "quxes")]) expect(told(await call("GET", to))).toEqual([500, why])
})
