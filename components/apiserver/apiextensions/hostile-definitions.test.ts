import { afterAll, beforeAll, expect, test } from "bun:test"
import { json, startHttpServer } from "../serving/http-server.fixtures.ts"

let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  server = await startHttpServer({ frozen: false })
})
afterAll(() => server.stop())

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const definition = (plural: string, kind: string, spec: object) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural, kind },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      },
    ],
  },
})

/** The limit of processor time: far more than a linear algorithm needs here, far less than a quadratic one. */
const MOST_MS = 5000
async function quickly<T>(work: () => Promise<T>): Promise<T> {
  const began = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(began)
  expect((user + system) / 1000).toBeLessThan(MOST_MS)
  return result
}

test("a definition with thousands of nested levels is accepted or refused, and the server keeps serving", async () => {
  let body = '{"type":"string"}'
  for (let depth = 0; depth < 6000; depth++) body = `{"type":"object","properties":{"a":${body}}}`
  const text = JSON.stringify(definition("deeps", "Deep", { deep: true })).replace('{"deep":true}', body)
  const answer = await quickly(() =>
    server.call("POST", DEFINITIONS, { headers: { "content-type": "application/json" }, body: text }),
  )
  expect([201, 400, 413, 422]).toContain(answer.code)
  expect((await server.call("GET", DEFINITIONS)).code).toBe(200)
})

test("a pattern that would make a backtracking engine hang takes time that grows with the length of the text", async () => {
  const spec = { type: "object", properties: { a: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" } } }
  expect((await server.call("POST", DEFINITIONS, json(definition("slows", "Slow", spec)))).code).toBe(201)
  const object = {
    apiVersion: "example.com/v1",
    kind: "Slow",
    metadata: { name: "a" },
    spec: { a: "a".repeat(200_000) },
  }
  const answer = await quickly(() => server.call("POST", "/apis/example.com/v1/namespaces/default/slows", json(object)))
  expect(answer.code).toBe(422)
})

/** Distinct patterns of 9,000 instructions each. */
const bombs = Array.from({ length: 100 }, (_, i) => `${"a{1000}".repeat(9)}${i}`)

test("a definition whose patterns are large only together is refused", async () => {
  const properties = Object.fromEntries(bombs.map((pattern, i) => [`p${i}`, { type: "string", pattern }]))
  const spec = { type: "object", properties }
  const answer = await server.call("POST", DEFINITIONS, json(definition("bombs", "Bomb", spec)))
  expect(answer.code).toBe(422)
  expect(answer.text).toContain("the repetitions in the patterns of this object are too large")
})

test("a DeviceClass whose selectors have patterns that are large only together is refused", async () => {
  const selectors = bombs
    .slice(0, 32)
    .map((pattern) => ({ cel: { expression: `device.driver.matches('${pattern}')` } }))
  const answer = await server.call(
    "POST",
    "/apis/resource.k8s.io/v1/deviceclasses",
    json({ apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name: "bomb" }, spec: { selectors } }),
  )
  expect(answer.code).toBe(422)
  expect(answer.text).toContain("the repetitions in the patterns of this object are too large")
})

test("a value is looked up in an enum of fifty thousand values without a search through all of them", async () => {
  const values = Array.from({ length: 50_000 }, (_, i) => `value-${i}`)
  const spec = { type: "object", properties: { a: { type: "array", items: { type: "string", enum: values } } } }
  expect((await quickly(() => server.call("POST", DEFINITIONS, json(definition("giants", "Giant", spec))))).code).toBe(
    201,
  )
  const object = { apiVersion: "example.com/v1", kind: "Giant", metadata: { name: "a" }, spec: { a: values } }
  const answer = await quickly(() =>
    server.call("POST", "/apis/example.com/v1/namespaces/default/giants", json(object)),
  )
  expect(answer.code).toBe(201)
})

test("rules that could cost too much are refused before they run", async () => {
  const list = { type: "array", items: { type: "string" } }
  const rule = "self.a.all(x, self.a.all(y, self.a.all(z, x == y || y == z)))"
  const spec = { type: "object", properties: { a: list }, "x-kubernetes-validations": [{ rule }] }
  const answer = await quickly(() => server.call("POST", DEFINITIONS, json(definition("costly", "Costly", spec))))
  expect(answer.code).toBe(422)
  expect(answer.text).toContain("estimated rule cost exceeds budget")
})

test("the cost of creating a definition does not grow with the number of definitions in its group", async () => {
  const QUARTER = 75
  const costs: number[] = []
  for (let made = 0; made < 4 * QUARTER; made += QUARTER) {
    const began = process.cpuUsage()
    for (let i = made; i < made + QUARTER; i++) {
      const body = definition(`many${i}s`, `Many${i}`, { type: "object" })
      const { code } = await server.call("POST", DEFINITIONS, json(body))
      expect(code).toBe(201)
    }
    const { user, system } = process.cpuUsage(began)
    costs.push(user + system)
  }
  // On any machine: if each looked at all before it, the last quarter would cost seven times as much as the first.
  expect(costs.at(-1)! / costs[0]!).toBeLessThan(4)
}, 120_000)
