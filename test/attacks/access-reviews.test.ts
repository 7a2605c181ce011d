import { afterAll, beforeAll, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, NODE } from "./identities.ts"

const OTHER_NODE = "node-b"
let server: TestServer
let identities: Identities

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

test("an access review is answered for the selector that it names", async () => {
  const ask = async (fieldSelector: object | undefined) => {
    const { body } = await identities.administrator.request(
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        body: {
          spec: {
            user: `system:node:${NODE}`,
            groups: ["system:nodes"],
            resourceAttributes: {
              verb: "list",
              resource: "pods",
              ...(fieldSelector === undefined ? {} : { fieldSelector }),
            },
          },
        },
      },
    )
    return (JSON.parse(body.toString()) as { status: { allowed: boolean } }).status.allowed
  }
  const requirement = (values: readonly string[], operator = "In") => ({
    requirements: [{ key: "spec.nodeName", operator, values }],
  })
  expect(await ask({ rawSelector: `spec.nodeName=${NODE}` })).toBe(true)
  expect(await ask(requirement([NODE]))).toBe(true)
  expect(await ask(undefined)).toBe(false)
  expect(await ask({ rawSelector: `spec.nodeName=${OTHER_NODE}` })).toBe(false)
  expect(await ask(requirement([NODE, OTHER_NODE]))).toBe(false)
  expect(await ask(requirement([OTHER_NODE], "NotIn"))).toBe(false)
})

test("an access review with metadata of a stored object is refused", async () => {
  const review = async (kind: string, metadata: object) =>
    identities.administrator.request("POST", `/apis/authorization.k8s.io/v1/${kind}`, {
      body: {
        metadata,
        spec: {
          ...(kind.startsWith("self") ? {} : { user: "u" }),
          resourceAttributes: { verb: "get", resource: "pods", namespace: NAMESPACE },
        },
      },
    })
  for (const kind of [
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
    `namespaces/${NAMESPACE}/localsubjectaccessreviews`,
  ]) {
    for (const metadata of [
      { name: "x" },
      { generateName: "x" },
      { labels: { a: "b" } },
      { annotations: { a: "b" } },
    ]) {
      const { status, body } = await review(kind, metadata)
      expect(status).toBe(422)
      expect(body.toString()).toContain("must be empty")
    }
    expect((await review(kind, { uid: "u", creationTimestamp: "2020-01-01T00:00:00Z" })).status).toBe(201)
  }
})
