/**
 * The responses to access reviews, token reviews and token requests. Each row is the response of a kube-apiserver
 * 1.36.2.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { json, startHttpServer } from "../../serving/http-server.fixtures.ts"

let host: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  host = await startHttpServer()
})
afterAll(() => host.stop())

const ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
const TOKEN = "/apis/authentication.k8s.io/v1/tokenreviews"
const REQUEST = "/api/v1/namespaces/default/serviceaccounts/default/token"
const list = (more: object) => ({ user: "u", resourceAttributes: { verb: "list", resource: "pods", ...more } })
const label = (requirement: object) => list({ labelSelector: { requirements: [requirement] } })
const field = (...requirements: object[]) => list({ fieldSelector: { requirements } })

async function post(path: string, body: object): Promise<{ code: number; answer: Record<string, unknown> }> {
  const { code, text } = await host.call("POST", path, json(body))
  return { code, answer: JSON.parse(text) as Record<string, unknown> }
}

describe("an access review", () => {
  test.each([
    {
      title: "without attributes is refused with a message that lacks the kind",
      spec: {},
      wants:
        '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of ' +
        'nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of ' +
        "user or group must be specified]",
    },
    {
      title: "with attributes of both sorts is refused with a message that shows one of them in Go's notation",
      spec: { ...list({}), nonResourceAttributes: { path: "/x" } },
      wants:
        '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: ' +
        "cannot be specified in combination with resourceAttributes",
    },
    {
      title: "with an empty label selector is refused with a message that names the selector",
      spec: list({ labelSelector: {} }),
      wants:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.labelSelector.requirements: Required value: when ' +
        "spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
    },
    {
      title: "with a field selector without a key is refused",
      spec: field({ key: "", operator: "Exists" }),
      wants:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.fieldSelector.requirements[0].key: Required ' +
        "value: must be specified",
    },
    {
      title: "with a field selector whose key is absent is refused",
      spec: field({ operator: "In", values: ["x"] }),
      wants:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.fieldSelector.requirements[0].key: Required ' +
        "value: must be specified",
    },
  ])("$title", async ({ spec, wants }) => {
    const { code, answer } = await post(ACCESS, { spec })
    expect([code, answer["message"]]).toEqual([422, wants])
  })

  test.each([
    {
      title: "an unknown operator",
      spec: label({ key: "a", operator: "Near", values: ["b"] }),
      wants: "spec.resourceAttributes.labelSelector ignored due to parse error",
    },
    {
      title: "some requirements that a field selector cannot express",
      spec: field({ key: "a", operator: "In", values: ["b"] }, { key: "c", operator: "Exists" }),
      wants: "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
    },
    {
      title: "texts that are no selectors",
      spec: list({ fieldSelector: { rawSelector: "a=b=c" }, labelSelector: { rawSelector: "a in (b" } }),
      wants:
        "spec.resourceAttributes.fieldSelector ignored due to parse error; " +
        "spec.resourceAttributes.labelSelector ignored due to parse error",
    },
    {
      title: "texts that are selectors",
      spec: list({ fieldSelector: { rawSelector: "a=b" }, labelSelector: { rawSelector: "!a" } }),
      wants: undefined,
    },
    { title: "only valid requirements", spec: label({ key: "a", operator: "Exists" }), wants: undefined },
  ])("with $title is answered, and evaluationError says what was ignored", async ({ spec, wants }) => {
    const { code, answer } = await post(ACCESS, { spec })
    expect([code, (answer["status"] as { evaluationError?: string }).evaluationError]).toEqual([201, wants])
  })
})

describe("metadata of an access review", () => {
  const LOCAL = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"

  test.each([
    {
      title: "a name and labels",
      path: ACCESS,
      metadata: { labels: { a: "b" }, name: "x" },
      shown: ["name", "labels"],
    },
    { title: "a resource version", path: ACCESS, metadata: { resourceVersion: "1" }, shown: ["resourceVersion"] },
    {
      title: "more than a namespace",
      path: LOCAL,
      metadata: { finalizers: ["a/b"] },
      shown: ["namespace", "finalizers"],
    },
  ])(
    "is refused if it has $title, and shown in the error with the fields that the server sets",
    async ({ path, metadata, shown }) => {
      const { code, answer } = await post(path, { metadata, spec: list({ namespace: "default" }) })
      const [, value = "", detail] =
        /^\.authorization\.k8s\.io "" is invalid: metadata: Invalid value: (.*): (.*)$/.exec(
          answer["message"] as string,
        )!
      expect([code, detail]).toEqual([422, path === LOCAL ? "must be empty except for namespace" : "must be empty"])
      expect(Object.keys(JSON.parse(value) as object)).toEqual([...shown, "managedFields"])
    },
  )

  test("loses the fields that only the server sets", async () => {
    const metadata = { uid: "u", creationTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 1 }
    const { code, answer } = await post(ACCESS, { metadata, spec: list({}) })
    expect([code, Object.keys(answer["metadata"] as object)]).toEqual([201, ["managedFields"]])
  })
})

test("a TokenReview needs a token, and reports an invalid token as an error in its status", async () => {
  expect(await post(TOKEN, { spec: {} })).toMatchObject({
    code: 400,
    answer: { message: "token is required for TokenReview in authentication" },
  })
  expect((await post(TOKEN, { spec: { token: "wrong" } })).answer["status"]).toEqual({
    user: {},
    error: "invalid bearer token",
  })
})

test("a SelfSubjectReview is returned with its creation time, and without the metadata that was sent", async () => {
  const { answer } = await post("/apis/authentication.k8s.io/v1/selfsubjectreviews", { metadata: { name: "x" } })
  expect(Object.keys(answer["metadata"] as object)).toEqual(["creationTimestamp"])
})

test("a SelfSubjectRulesReview is returned without its namespace", async () => {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
  expect((await post(path, { spec: { namespace: "default" } })).answer["spec"]).toEqual({})
})

describe("a request for a token", () => {
  test.each([
    {
      title: "of another account",
      body: { metadata: { name: "other" } },
      wants: [
        422,
        'TokenRequest.authentication.k8s.io "default" is invalid: metadata.name: Invalid value: "other": must match the ' +
          "service account name if specified",
      ],
    },
    {
      title: "in another namespace",
      body: { metadata: { namespace: "other" } },
      wants: [400, "the namespace of the provided object does not match the namespace sent on the request"],
    },
    {
      title: "bound to an empty reference",
      body: { spec: { boundObjectRef: {} } },
      wants: [400, "cannot bind token to object of type /, Kind="],
    },
    {
      title: "bound to a kind that tokens cannot be bound to",
      body: { spec: { boundObjectRef: { kind: "Deployment", apiVersion: "apps/v1", name: "x" } } },
      wants: [400, "cannot bind token to object of type apps/v1, Kind=Deployment"],
    },
    {
      title: "bound to a pod without a name",
      body: { spec: { boundObjectRef: { kind: "Pod", apiVersion: "v1" } } },
      wants: [400, "Name parameter required."],
    },
  ])("$title is refused", async ({ body, wants }) => {
    const { code, answer } = await post(REQUEST, body)
    expect([code, answer["message"]]).toEqual([...wants])
  })
})

test("an error about impersonated groups without a user lists the groups", async () => {
  const { code, text } = await host.call("GET", "/api", {
    headers: { "impersonate-group": "g", "impersonate-extra-a": "b" },
  })
  expect([code, (JSON.parse(text) as { message: string }).message]).toEqual([
    400,
    'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string{"a":[]string{"b"}}} ' +
      "without impersonating a user name",
  ])
})
