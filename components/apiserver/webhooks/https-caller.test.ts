import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer, type Server } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import { cm, CONFIGMAPS, json, startHttpServer, type Answer } from "../serving/http-server.fixtures.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Objects } from "../cacher/objects.ts"
import { httpsCaller } from "./https-caller.ts"
import type { Review, AdmissionReview } from "./review.ts"

const DAY_MS = 86_400_000
const now = Date.now()
const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) }
const ca = createCa({ commonName: "webhooks", validity })
const intermediate = createCa({ commonName: "webhooks below", validity, issuer: ca })
const pair = issueCertificate(intermediate, {
  subject: { commonName: "webhook", organizations: [] },
  validity,
  ipAddresses: ["127.0.0.1"],
  usages: ["server"],
})
const CA_BUNDLE = Buffer.from(ca.certPem).toString("base64")

type Reply = (review: AdmissionReview) => {
  readonly code?: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

let webhook: Server
let reply: Reply
/** Method and path of each request to the webhook. */
const asked: string[] = []
let connections = 0
const sockets = new Set<Socket>()
let api: Awaited<ReturnType<typeof startHttpServer>>

beforeAll(async () => {
  webhook = createServer({ key: pair.keyPem, cert: pair.certPem + intermediate.certPem }, (req, res) => {
    let text = ""
    req.on("data", (part: Buffer) => (text += part.toString()))
    req.on("end", () => {
      asked.push(`${req.method} ${req.url}`)
      const { code = 200, body, headers } = reply(JSON.parse(text || "{}") as AdmissionReview)
      res.writeHead(code, { "content-type": "application/json", ...headers }).end(body)
    })
  })
  webhook.on("secureConnection", (socket) => {
    connections++
    sockets.add(socket)
  })
  await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve))
  api = await startHttpServer()
})
afterAll(async () => {
  await api.stop()
  for (const socket of sockets) socket.destroy()
  webhook.close()
})

const urlOf = (path = "/ask"): string => `https://127.0.0.1:${(webhook.address() as AddressInfo).port}${path}`
const allowed = ({ request: { uid }, apiVersion }: AdmissionReview, more: object = {}): string =>
  JSON.stringify({ apiVersion, kind: "AdmissionReview", response: { uid, allowed: true, ...more } })

let made = 0
/** Creates a ConfigMap while one validating webhook is configured, and returns the response. */
async function createWith(clientConfig: object, more: object = {}): Promise<Answer> {
  const name = `w${++made}`
  const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
  const created = await api.call(
    "POST",
    path,
    json({
      metadata: { name },
      webhooks: [
        {
          name: "policy.example.com",
          clientConfig,
          rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          ...more,
        },
      ],
    }),
  )
  expect(created.code).toBe(201)
  try {
    return await api.call("POST", CONFIGMAPS, json(cm(name)))
  } finally {
    await api.call("DELETE", `${path}/${name}`)
  }
}
const messageOf = ({ text }: Answer): string => (JSON.parse(text) as { readonly message: string }).message

describe("a webhook over HTTPS", () => {
  test("is called at its URL, its certificate is verified, and its warnings are sent to the client", async () => {
    reply = (review) => ({ body: allowed(review, { warnings: ["old style"] }) })
    const answer = await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    expect(answer.code).toBe(201)
    expect(answer.headers["warning"]).toBe('299 - "old style"')
  })

  test.each([
    ["the authority", ca.certPem],
    ["an intermediate authority", intermediate.certPem],
    ["the webhook's own certificate", pair.certPem],
    ["several, of which one is the right one", createCa({ commonName: "other", validity }).certPem + pair.certPem],
  ])("is trusted when the bundle has %s", async (_what, pem) => {
    reply = (review) => ({ body: allowed(review) })
    const answer = await createWith({ url: urlOf(), caBundle: Buffer.from(pem).toString("base64") })
    expect(answer.code).toBe(201)
  })

  test("is not trusted when the bundle has another authority", async () => {
    const { certPem } = createCa({ commonName: "webhooks", validity })
    const answer = await createWith({ url: urlOf(), caBundle: Buffer.from(certPem).toString("base64") })
    expect(messageOf(answer)).toContain("x509: certificate signed by unknown authority")
  })

  test.each([
    ["//ask", "/ask"],
    ["/v/", "/v"],
    ["/a//b/../c/", "/a/c"],
    ["", "/"],
    ["/a%20b", "/a%20b"],
    ["/a%2Fb:c", "/a/b:c"],
  ])("whose URL has the path %p is asked at %p", async (given, at) => {
    asked.length = 0
    reply = (review) => ({ body: allowed(review) })
    expect((await createWith({ url: urlOf(given), caBundle: CA_BUNDLE })).code).toBe(201)
    expect(asked).toEqual([`POST ${at}?timeout=10s`])
  })

  test.each([307, 308])("that redirects with %d is asked again at the new place", async (code) => {
    asked.length = 0
    reply = (review) =>
      asked.at(-1)!.startsWith("POST /ask")
        ? { code, body: "", headers: { location: "/moved" } }
        : { body: allowed(review) }
    expect((await createWith({ url: urlOf(), caBundle: CA_BUNDLE })).code).toBe(201)
    expect(asked).toEqual(["POST /ask?timeout=10s", "POST /moved"])
  })

  test.each([301, 302, 303])("that redirects with %d gets a GET without the review there", async (code) => {
    asked.length = 0
    reply = () =>
      asked.at(-1)!.startsWith("POST") ? { code, body: "", headers: { location: urlOf("/moved") } } : { body: "{}" }
    const answer = await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    expect(messageOf(answer)).toContain("webhook response was absent")
    expect(asked).toEqual(["POST /ask?timeout=10s", "GET /moved"])
  })

  test("that redirects to a place with another certificate is not trusted there", async () => {
    // given a server of the same authority, whose certificate is for another address
    const other = issueCertificate(ca, {
      subject: { commonName: "other", organizations: [] },
      validity,
      dnsNames: ["other.example.com"],
      usages: ["server"],
    })
    const server = createServer({ key: other.keyPem, cert: other.certPem }, (_req, res) => res.end("{}"))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const location = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    reply = () => ({ code: 307, body: "", headers: { location } })
    // when
    const answer = await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    server.close()
    // then
    expect(messageOf(answer)).toContain(`Post "${location}": tls: failed to verify certificate`)
  })

  test("that redirects elsewhere leaves no connection open there", async () => {
    // given a server that would keep connections open
    const closed = Promise.withResolvers<void>()
    const server = createServer({ key: pair.keyPem, cert: pair.certPem + intermediate.certPem }, (_req, res) =>
      res.end("{}"),
    )
    server.keepAliveTimeout = 0
    server.on("secureConnection", (socket) => socket.on("close", () => closed.resolve()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const location = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    reply = () => ({ code: 303, body: "", headers: { location } })
    // when
    const answer = await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    // then
    expect(messageOf(answer)).toContain("webhook response was absent")
    await closed.promise
    server.close()
  })

  test.each([
    ["the eleventh redirect", "/again", 'Post "/again": stopped after 10 redirects'],
    ["a redirect to another scheme", "ftp://example.com/", 'unsupported protocol scheme "ftp"'],
  ])("fails at %s", async (_what, location, wants) => {
    reply = () => ({ code: 307, body: "", headers: { location } })
    expect(messageOf(await createWith({ url: urlOf(), caBundle: CA_BUNDLE }))).toContain(wants)
  })

  test("has one time limit for all redirects together", async () => {
    // given a clock on which every question takes a second
    let now = 0
    const limits: number[] = []
    const clock = {
      monotonic: () => (now += 1000),
      setTimeout(_run: () => void, ms: number) {
        limits.push(ms)
        return { cancel: () => undefined }
      },
    }
    const { call } = httpsCaller({ objects: {} as Objects, clock: clock as unknown as Clock })
    reply = () => ({ code: 307, body: "", headers: { location: "/again" } })
    // when
    const called = call({ url: urlOf(), caBundle: CA_BUNDLE }, {} as Review, 30_000)
    // then
    await expect(called).rejects.toThrow("stopped after 10 redirects")
    expect(limits).toEqual(Array.from({ length: 11 }, (_, i) => 29_000 - 1000 * i))
  })

  test.each([
    { title: "429 and Retry-After", code: 429, after: "0", times: 2 },
    { title: "503 and Retry-After", code: 503, after: "0", times: 2 },
    { title: "500 and Retry-After", code: 500, after: "0", times: 2 },
    { title: "503", code: 503, after: undefined, times: 1 },
    { title: "404 and Retry-After", code: 404, after: "0", times: 1 },
    { title: "503 and a date", code: 503, after: "Wed, 21 Oct 2037 07:28:00 GMT", times: 1 },
  ])("that answers with $title is called $times times", async ({ code, after, times }) => {
    asked.length = 0
    reply = (review) =>
      asked.length === 1
        ? { code, body: "", ...(after === undefined ? {} : { headers: { "retry-after": after } }) }
        : { body: allowed(review) }
    expect((await createWith({ url: urlOf(), caBundle: CA_BUNDLE })).code).toBe(times === 2 ? 201 : 500)
    expect(asked).toHaveLength(times)
  })

  test("that always asks to wait is called eleven times, and fails with its last answer", async () => {
    asked.length = 0
    reply = () => ({ code: 503, body: "", headers: { "retry-after": "0" } })
    const answer = await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    expect(messageOf(answer)).toContain("the server is currently unable to handle the request")
    expect(asked).toHaveLength(11)
  })

  test("that asks to wait is called again after that time, and not beyond the time limit of the call", async () => {
    // given a clock of which every second timer, which is that of a wait, runs at once
    let now = 0
    const timers: number[] = []
    const clock = {
      monotonic: () => now,
      setTimeout(run: () => void, ms: number) {
        if (timers.push(ms) % 2 === 0) {
          now += ms
          queueMicrotask(run)
        }
        return { cancel: () => undefined }
      },
    }
    const { call } = httpsCaller({ objects: {} as Objects, clock: clock as unknown as Clock })
    reply = () => ({ code: 503, body: "", headers: { "retry-after": timers.length === 1 ? "5" : "7" } })
    // when
    const called = call({ url: urlOf(), caBundle: CA_BUNDLE }, {} as Review, 8000)
    // then
    await expect(called).rejects.toThrow(`Post "${urlOf()}?timeout=8s": context deadline exceeded`)
    expect(timers).toEqual([8000, 5000, 3000, 3000])
  })

  test("that answers with a redirect to nowhere fails with that status", async () => {
    reply = () => ({ code: 307, body: "" })
    expect(messageOf(await createWith({ url: urlOf(), caBundle: CA_BUNDLE }))).toContain("status code 307")
  })

  test("is called again over the same connection", async () => {
    reply = (review) => ({ body: allowed(review) })
    await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    const before = connections
    for (let i = 0; i < 5; i++) await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    expect(connections).toBe(before)
  })

  const FAILURES: readonly { title: string; given: () => object; at?: Reply; wants: string }[] = [
    {
      title: "a certificate of an unknown authority",
      given: () => ({ url: urlOf() }),
      wants: "tls: failed to verify certificate: x509: certificate signed by unknown authority",
    },
    {
      title: "a port on which nothing listens",
      given: () => ({ url: "https://127.0.0.1:1/ask", caBundle: CA_BUNDLE }),
      wants: 'Post "https://127.0.0.1:1/ask?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused',
    },
    {
      title: "a Service that does not exist",
      given: () => ({ service: { namespace: "default", name: "nobody", path: "/ask" }, caBundle: CA_BUNDLE }),
      wants: 'Post "https://nobody.default.svc:443/ask?timeout=10s": service "nobody" not found',
    },
    {
      title: "a Service without the port",
      given: () => ({ service: { namespace: "default", name: "kubernetes", port: 1 }, caBundle: CA_BUNDLE }),
      wants: 'Post "https://kubernetes.default.svc:1/?timeout=10s": no service port 1 found for service "kubernetes"',
    },
    {
      title: "an HTTP error",
      given: () => ({ url: urlOf(), caBundle: CA_BUNDLE }),
      at: () => ({ code: 500, body: "out of order" }),
      wants: 'an error on the server ("unknown") has prevented the request from succeeding',
    },
    {
      title: "a response to another review",
      given: () => ({ url: urlOf(), caBundle: CA_BUNDLE }),
      at: ({ apiVersion }) => ({
        body: JSON.stringify({ apiVersion, kind: "AdmissionReview", response: { uid: "x", allowed: true } }),
      }),
      wants: 'received invalid webhook response: expected response.uid="',
    },
    {
      title: "a review without a response",
      given: () => ({ url: urlOf(), caBundle: CA_BUNDLE }),
      at: () => ({ body: "{}" }),
      wants: "received invalid webhook response: webhook response was absent",
    },
  ]
  test.each(FAILURES)(
    "that fails with $title makes the request fail, and the error says why",
    async ({ given, at, wants }) => {
      reply = at ?? ((review) => ({ body: allowed(review) }))
      const answer = await createWith(given())
      expect(answer.code).toBe(500)
      expect(messageOf(answer)).toStartWith('Internal error occurred: failed calling webhook "policy.example.com": ')
      expect(messageOf(answer)).toContain(wants)
    },
  )

  test("whose response is too large makes the request fail", async () => {
    reply = () => ({ body: "x".repeat(4 * 1024 * 1024) })
    const answer = await createWith({ url: urlOf(), caBundle: CA_BUNDLE })
    expect([answer.code, messageOf(answer)]).toEqual([500, expect.stringContaining("larger than 3145728 bytes")])
  })

  const CONNECTIONS: readonly { title: string; given: string; wants: object }[] = [
    {
      title: "exec",
      given: "pods/p/exec?command=sh&command=-c&stdin=true&stdout=true&tty=true&container=c",
      wants: { kind: "PodExecOptions", command: ["sh", "-c"], stdin: true, stdout: true, tty: true, container: "c" },
    },
    { title: "attach", given: "pods/p/attach?stdout=1", wants: { kind: "PodAttachOptions", stdout: true } },
    {
      title: "port-forward",
      given: "pods/p/portforward?ports=80",
      wants: { kind: "PodPortForwardOptions", ports: [80] },
    },
    { title: "a proxy", given: "pods/p/proxy/a/b?c=d", wants: { kind: "PodProxyOptions", path: "/a/b" } },
  ]
  test.each(CONNECTIONS)("is called for $title, with the options as the object", async ({ given, wants }) => {
    const requests: AdmissionReview["request"][] = []
    reply = (review) => {
      requests.push(review.request)
      return { body: allowed(review, { allowed: false, status: { message: "nobody connects" } }) }
    }
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    const name = `w${++made}`
    await api.call(
      "POST",
      path,
      json({
        metadata: { name },
        webhooks: [
          {
            name: "policy.example.com",
            clientConfig: { url: urlOf(), caBundle: CA_BUNDLE },
            rules: [{ operations: ["CONNECT"], apiGroups: ["*"], apiVersions: ["*"], resources: ["pods/*"] }],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      }),
    )
    // when
    const answer = await api.call("POST", `/api/v1/namespaces/default/${given}`)
    await api.call("DELETE", `${path}/${name}`)
    // then
    expect([answer.code, messageOf(answer)]).toEqual([
      400,
      'admission webhook "policy.example.com" denied the request: nobody connects',
    ])
    expect(requests).toMatchObject([
      {
        operation: "CONNECT",
        namespace: "default",
        name: "p",
        kind: { kind: (wants as { kind: string }).kind },
        oldObject: null,
      },
    ])
    expect(requests[0]!.object).toEqual({ apiVersion: "v1", ...wants })
  })
})
