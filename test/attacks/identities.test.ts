import { afterAll, beforeAll, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, type IdentityName, makeIdentities, NAMESPACE, POD } from "./identities.ts"

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

const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

test.each<[IdentityName, readonly string[]]>([
  ["outsider", ["system:authenticated"]],
  ["namespaceAdmin", ["system:authenticated"]],
  ["node", ["system:nodes", "system:authenticated"]],
  ["pod", ["system:serviceaccounts", `system:serviceaccounts:${NAMESPACE}`, "system:authenticated"]],
  ["administrator", ["system:masters", "system:authenticated"]],
])("the server knows %s by its name and groups", async (name, groups) => {
  // when
  const { status, body } = await identities[name].request("POST", REVIEWS, { body: {} })

  // then
  expect(status).toBe(201)
  expect(JSON.parse(body.toString())).toMatchObject({
    status: { userInfo: { username: identities[name].user, groups } },
  })
})

test("only users with rights can read the pod", async () => {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${POD}`
  const seen = await Promise.all(
    Object.values(identities).map(async (one) => [one.name, (await one.request("GET", path)).status]),
  )
  expect(Object.fromEntries(seen)).toEqual({
    administrator: 200,
    node: 200,
    namespaceAdmin: 200,
    outsider: 403,
    pod: 403,
    anonymous: 401,
  })
})
