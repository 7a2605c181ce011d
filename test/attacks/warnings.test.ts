import { afterAll, beforeAll, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE } from "./identities.ts"
import { head, tlsClient } from "./raw-client.ts"

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

/** Clients give up on more; Node's after 16 KB. */
const MOST_BYTES = 10_000

test.each([
  { what: "unknown fields", fields: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`unknown${i}`, 1])) },
  { what: "unknown fields with long names", fields: { ["x".repeat(100_000)]: 1, ["y".repeat(100_000)]: 2 } },
  { what: "duplicate fields", fields: undefined },
])("5,000 $what do not make the head of a response too large for clients", async ({ fields }) => {
  // given an object of somebody with rights
  const twice = Array.from({ length: 5000 }, (_, i) => `"f${i}":1,"f${i}":2`).join(",")
  const body =
    fields === undefined ? `{"metadata":{"name":"a"},${twice}}` : JSON.stringify({ metadata: { name: "a" }, ...fields })

  // when
  const client = await tlsClient(
    server.port,
    head("POST", `/api/v1/namespaces/${NAMESPACE}/configmaps?fieldValidation=Warn&dryRun=All`, {
      "Content-Type": "application/json",
      "Content-Length": String(body.length),
      Connection: "close",
    }) + body,
    { as: identities.namespaceAdmin },
  )
  let answer = ""
  client.socket.on("data", (bytes: Buffer) => (answer += bytes.toString()))
  await client.closed

  // then
  const [answered = ""] = answer.split("\r\n\r\n", 1)
  expect(answered).toStartWith("HTTP/1.1 201 Created")
  expect(answered.toLowerCase()).toContain("\r\nwarning: 299 - ")
  expect(answered.length).toBeLessThan(MOST_BYTES)
})
