import { afterAll, beforeAll, expect, test } from "bun:test"
import { json, startHttpServer } from "../../serving/http-server.fixtures.ts"

/** The field managers in responses to reviews. The expected values are the responses of a kube-apiserver 1.36.2. */
let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  server = await startHttpServer()
})
afterAll(() => server.stop())

const OF_QUESTION = { "f:spec": { "f:resourceAttributes": { ".": {}, "f:resource": {}, "f:verb": {} }, "f:user": {} } }

test.each([
  {
    title: "an access review",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: { spec: { user: "a", resourceAttributes: { verb: "get", resource: "pods" } } },
    fields: OF_QUESTION,
  },
  {
    title: "a token review",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: { spec: { token: "none" } },
    fields: { "f:spec": { "f:token": {} } },
  },
  {
    title: "a review of one's own rules",
    path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    body: { spec: { namespace: "default" } },
    fields: undefined,
  },
  {
    title: "a request for a token",
    path: "/api/v1/namespaces/default/serviceaccounts/default/token",
    body: { spec: { audiences: ["a"] } },
    fields: { "f:spec": { "f:audiences": {}, "f:expirationSeconds": {} } },
  },
])("$title has managedFields, as a stored object has", async ({ path, body, fields }) => {
  const { text } = await server.call("POST", path, json(body))
  const { metadata } = JSON.parse(text) as { metadata: { managedFields?: readonly { fieldsV1: object }[] } }
  expect(metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual(fields && [fields])
})

test("a TokenRequest without boundObjectRef is returned with the field as null", async () => {
  const { text } = await server.call("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", json({}))
  expect(JSON.parse(text)).toMatchObject({ spec: { boundObjectRef: null } })
})
