import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startHttpServer } from "../serving/http-server.fixtures.ts"
import { Query } from "../call/query.ts"
import { requestTimeout } from "./request-timeout.ts"

describe("a request", () => {
  test.each([
    { query: "", ms: 60_000 },
    { query: "timeout=", ms: 60_000 },
    { query: "timeout=0", ms: 60_000 },
    { query: "timeout=-5s", ms: 60_000 },
    { query: "timeout=1500ms", ms: 1500 },
    { query: "timeout=2h", ms: 60_000 },
    { query: "timeoutSeconds=5", ms: 60_000 },
    { query: "timeout=1s&timeout=abc", ms: 1000 },
  ])("with ?$query has a timeout of $ms ms", ({ query, ms }) => {
    expect(requestTimeout(new Query(query), 60_000)).toBe(ms)
  })

  test.each([
    { query: "timeout=abc", message: 'time: invalid duration "abc"' },
    { query: "timeout=10", message: 'time: missing unit in duration "10"' },
    { query: "timeout=1x", message: 'time: unknown unit "x" in duration "1x"' },
  ])("with ?$query is refused", ({ query, message }) => {
    expect(() => requestTimeout(new Query(query), 60_000)).toThrow(
      `invalid timeout specified in the request URL - ${message}`,
    )
  })
})

describe("over HTTP", () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  let server: Awaited<ReturnType<typeof startHttpServer>>
  beforeAll(async () => {
    server = await startHttpServer({
      intercept: (pipeline) => ({
        ...pipeline,
        handle: (request) =>
          request.name === "slow" ? held.then(() => pipeline.handle(request)) : pipeline.handle(request),
      }),
    })
  })
  afterAll(async () => {
    letGo()
    await server.stop()
  })
  const SLOW = "/api/v1/namespaces/default/configmaps/slow"

  test("a request that is not answered in its time gets 504", async () => {
    const { code, text, headers } = await server.call("GET", `${SLOW}?timeout=50ms`)
    expect([code, headers["content-type"]]).toEqual([504, "text/plain; charset=utf-8"])
    expect(text).toBe(
      '{"metadata":{},"status":"Failure",' +
        '"message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}\n',
    )
  })

  test.each(["/api/v1/pods", "/healthz", "/nowhere", "/openapi/v2"])(
    "an invalid timeout is refused with 400, before anything else is checked: %s",
    async (path) => {
      const { code, text } = await server.call("GET", `${path}?timeout=abc`, { token: undefined })
      expect([code, (JSON.parse(text) as { message: string }).message]).toEqual([
        400,
        'invalid timeout specified in the request URL - time: invalid duration "abc"',
      ])
    },
  )

  test("a watch does not have this timeout", async () => {
    const path = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&timeout=abc"
    expect((await server.call("GET", path)).code).toBe(200)
  })
})
