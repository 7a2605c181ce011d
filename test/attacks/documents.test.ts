import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE } from "./identities.ts"

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

const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`
/** Processor seconds that one request may cost the server: a hundred times what an honest one of its size does. */
const MOST_SECONDS = 1.5

const YAML = "application/yaml"
const JSON_TYPE = "application/json"
const PROTOBUF = "application/vnd.kubernetes.protobuf"

const times = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join("")

/**
 * A protobuf envelope whose body is a message inside a message, so many deep, or one that claims to be longer than it
 * is.
 */
function nestedProtobuf(depth: number): Uint8Array {
  let bytes = Buffer.alloc(0)
  for (let i = 0; i < depth; i++) bytes = Buffer.concat([Buffer.from([0x0a]), varint(bytes.length), bytes])
  return Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x12]), varint(bytes.length), bytes])
}
function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left])
    bytes.push((left % 128) + 128)
  }
}

const DOCUMENTS = [
  { title: "5,000 nested lists", type: YAML, body: "- ".repeat(5000) },
  { title: "500,000 nested lists", type: YAML, body: "- ".repeat(500_000) },
  { title: "60,000 anchors", type: YAML, body: times(60_000, (i) => `a${i}: &a${i} x\n`) },
  {
    title: "aliases of aliases",
    type: YAML,
    body: `a0: &a0 [x]\n${times(40, (i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`)}`,
  },
  { title: "2,000 lines, each indented deeper", type: YAML, body: times(2000, (i) => `${" ".repeat(i)}k:\n`) },
  { title: "100,000 open brackets", type: YAML, body: "[".repeat(100_000) },
  { title: "a text that never ends", type: YAML, body: `a: "${"\\x41".repeat(200_000)}` },
  { title: "100,000 question marks", type: YAML, body: "? ".repeat(100_000) },
  { title: "1,000,000 nested lists", type: JSON_TYPE, body: "[".repeat(1_000_000) },
  { title: "200,000 fields", type: JSON_TYPE, body: `{${times(200_000, (i) => `"${i}":1,`)}"a":1}` },
  { title: "one field repeated 200,000 times", type: JSON_TYPE, body: `{${'"a":1,'.repeat(200_000)}"a":1}` },
  { title: "a number of a million digits", type: JSON_TYPE, body: `{"a":${"9".repeat(1_000_000)}}` },
  { title: "3,000 nested messages", type: PROTOBUF, body: nestedProtobuf(3000) },
  {
    title: "a message longer than its body",
    type: PROTOBUF,
    body: Buffer.from("k8s\0\x12\xff\xff\xff\xff\x07", "latin1"),
  },
] as const

/** Processor seconds that `ask` costs the server. */
async function costOf(ask: () => Promise<unknown>): Promise<number> {
  const before = server.cpuSeconds()
  await ask()
  return server.cpuSeconds() - before
}

describe.each(DOCUMENTS)("$title ($type)", ({ type, body }) => {
  test("cost the server little when a user with rights sends them", async () => {
    // given
    let status = 0
    // when
    const cost = await costOf(async () => {
      ;({ status } = await identities.namespaceAdmin.request("POST", PATH, { headers: { "content-type": type }, body }))
    })
    // then
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(cost).toBeLessThan(MOST_SECONDS)
  })

  test("are not read when a user without rights sends them", async () => {
    const answer = await identities.outsider.request("POST", PATH, { headers: { "content-type": type }, body })
    expect(answer.status).toBe(403)
  })
})

describe("a patch", () => {
  const made = async (name: string, data: object) => {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }
    expect((await identities.namespaceAdmin.request("POST", PATH, { body })).status).toBe(201)
  }
  const patched = (name: string, type: string, body: object) =>
    identities.namespaceAdmin.request("PATCH", `${PATH}/${name}`, { headers: { "content-type": type }, body })

  test("that doubles the object 22 times is refused before it is applied", async () => {
    // given
    await made("doubled", { a: "x".repeat(18) })
    const copies = Array.from({ length: 22 }, (_, i) => ({ op: "copy", from: "/data", path: `/data/${i}` }))
    // when
    const cost = await costOf(async () => {
      expect((await patched("doubled", "application/json-patch+json", copies)).status).toBe(422)
    })
    // then
    expect(cost).toBeLessThan(MOST_SECONDS)
  })

  test("cannot grow an object step by step beyond the size limit", async () => {
    // given an object of a kind that has no limit of its own
    const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
    const labels = { app: "grown" }
    const spec = { containers: [{ name: "c", image: "i", args: ["a"] }] }
    const body = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "grown" },
      spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    }
    expect((await identities.namespaceAdmin.request("POST", path, { body })).status).toBe(201)
    const headers = { "content-type": "application/json-patch+json" }
    const more = [{ op: "add", path: "/spec/template/spec/containers/0/args/-", value: "x".repeat(200_000) }]
    // when
    const answers: string[] = []
    for (let i = 0; i < 10; i++) {
      const answer = await identities.namespaceAdmin.request("PATCH", `${path}/grown`, { headers, body: more })
      answers.push(answer.status === 200 ? "taken" : answer.body.toString())
    }
    // then
    expect(answers.filter((answer) => answer === "taken")).toHaveLength(7)
    expect(answers.at(-1)).toContain("etcdserver: request is too large")
  })
})

test.each(["9223372036854775807", "9007199254740993", "-9007199254740993", "1e19"])(
  "the integer %s is stored exactly or not at all",
  async (number) => {
    const body = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"exact"},"spec":{"terminationGracePeriodSeconds":${number},"containers":[{"name":"c","image":"i"}]}}`
    const headers = { "content-type": JSON_TYPE }
    const answer = await identities.administrator.request("POST", `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, {
      headers,
      body,
    })
    expect(answer.status).toBe(400)
    expect(answer.body.toString()).toContain("terminationGracePeriodSeconds")
  },
)

test("after all attacks, the server serves other users", async () => {
  expect(server.alive).toBe(true)
  expect((await identities.namespaceAdmin.request("GET", PATH)).status).toBe(200)
})
