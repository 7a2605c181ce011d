import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { FinishedSpan } from "../../../pkg/tracing/finished-span.ts"
import { parentBased } from "../../../pkg/tracing/sampler.ts"
import { createTracer } from "../../../pkg/tracing/tracer.ts"
import { cm, CONFIGMAPS, json, startHttpServer } from "../serving/http-server.fixtures.ts"

const PARENT = "4bf92f3577b34da6a3ce929d0e0e4736"
const traceparent = `00-${PARENT}-00f067aa0ba902b7-01`

/** A server that records nothing unless a trusted client asks for it. */
const spans: FinishedSpan[] = []
const tracing = createTracer({
  clock: realClock,
  random: systemRandom,
  sampler: parentBased(0),
  sink: (span) => spans.push(span),
})
let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => void (server = await startHttpServer({}, tracing)))
beforeEach(() => void spans.splice(0))
afterAll(() => server.stop())

const names = () => spans.map(({ name }) => name)

describe("spans of requests over HTTP", () => {
  test("continue an administrator's traceparent, through admission to the store", async () => {
    // when
    const { headers, body } = json(cm("traced"))
    await server.call("POST", CONFIGMAPS, { headers: { ...headers, traceparent }, body: body! })
    // then
    expect(names().toSorted()).toEqual([
      "Create",
      "Create etcd3",
      "Mutating admission",
      "POST /api/v1/namespaces/{:namespace}/configmaps",
      "Validating admission",
      "priorityandfairness",
    ])
    expect(new Set(spans.map(({ context }) => context.traceId))).toEqual(new Set([PARENT]))
    const request = spans.find(({ kind }) => kind === "server")!
    expect(request).toMatchObject({
      parentSpanId: "00f067aa0ba902b7",
      component: "apiserver",
      attributes: { "http.request.method": "POST", "http.response.status_code": 201, "http.target": CONFIGMAPS },
    })
  })

  test("are not recorded for a traceparent of a client without the right", async () => {
    // given
    const path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    const made = await server.call("POST", path, json({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" }))
    const { token } = (JSON.parse(made.text) as { readonly status: { readonly token: string } }).status
    // when
    const refused = await server.call("GET", "/api/v1/namespaces", { headers: { traceparent }, token })
    const anonymous = await server.call("GET", "/livez", { headers: { traceparent }, token: undefined })
    // then
    expect([refused.code, anonymous.code, names()]).toEqual([403, 200, []])
  })

  test("do not contain the part of a path that no route knows, since it may be a secret", async () => {
    // given
    const path = "/api/v1/namespaces/default/pods/none/exec?command=login&command=--password%3Dhunter2"
    // when
    await server.call("GET", path, { headers: { traceparent } })
    // then
    expect(spans.length).toBeGreaterThan(0)
    expect(JSON.stringify(spans)).not.toContain("hunter2")
  })

  test("for a resource that is not served have no name of their own", async () => {
    await server.call("GET", "/apis/made.up/v1/things", { headers: { traceparent } })
    expect(names()).toEqual(["GET"])
  })

  test("do not contain bodies", async () => {
    // given
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { password: "hunter2" } }
    const { headers, body } = json(secret)
    // when
    await server.call("POST", "/api/v1/namespaces/default/secrets", {
      headers: { ...headers, traceparent },
      body: body!,
    })
    // then
    expect(names()).toContain("Create etcd3")
    expect(JSON.stringify(spans)).not.toMatch(/hunter2|aHVudGVyMg/)
  })
})
