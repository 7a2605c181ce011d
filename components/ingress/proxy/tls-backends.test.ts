import { describe, expect, test } from "bun:test"
import { realClock } from "../../../pkg/clock/real.ts"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import { Http1Connector } from "../http1/connector.ts"
import { backend, client, startProxy } from "./proxy.fixtures.ts"
import type { Upstream } from "../messages/messages.ts"
import { Watchdog } from "./watchdog.ts"

const validity = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 86_400_000) }
/** A certificate of an unknown CA, for another name than the backend's: the proxy verifies neither. */
const certificate = issueCertificate(createCa({ commonName: "unknown", validity }), {
  subject: { commonName: "elsewhere.example", organizations: [] },
  usages: ["server"],
  dnsNames: ["elsewhere.example"],
  validity,
})
const GET = "GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"
const POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
const HEAD_END = "\r\n\r\n"

/** A proxy with one backend that speaks TLS, and a client's connection without TLS. */
async function through() {
  const web = await backend(certificate)
  const proxy = await startProxy({ protocol: "https1", endpoints: [web.port] })
  const browser = await client(proxy.port)
  return {
    web,
    browser,
    async [Symbol.asyncDispose]() {
      browser.socket.destroy()
      web[Symbol.dispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

describe("to a backend that speaks TLS, the proxy forwards", () => {
  test("requests, and reuses the connection", async () => {
    await using given = await through()
    const connection = given.web.connection()
    for (const _round of [1, 2]) {
      given.browser.send(GET)
      const server = await connection
      // The scheme is that of the client, not that of the backend.
      expect(await server.until(HEAD_END)).toContain("\r\nX-Forwarded-Proto: http\r\n")
      server.send(OK)
      expect(await given.browser.until("ok")).toBe(OK)
    }
    expect(given.web.unclaimed).toBe(0)
  })

  test("both directions of a WebSocket, each to its own end", async () => {
    await using given = await through()
    const { browser, web } = given
    browser.send("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    const server = await web.connection()
    await server.until(HEAD_END)
    server.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nhello")
    await browser.until("hello")
    browser.send("bye")
    await server.until("bye")
    browser.socket.end()
    await server.untilEnd()
    server.send("late")
    await browser.until("late")
    server.socket.end()
    await browser.untilEnd()
  })

  test("a large body completely to a backend that reads late, and a large response to a client that reads late", async () => {
    // given 4 MB, more than the buffers of both sockets
    const size = 4 * 1024 * 1024
    const body = Buffer.alloc(size, "0123456789abcdef").toString("latin1")
    await using given = await through()
    const { browser, web } = given

    // when the backend reads only after all was written
    browser.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n${body}end`)
    const server = await web.connection()
    server.socket.pause()
    await new Promise((resolve) => setImmediate(resolve))
    server.socket.resume()
    await server.until(HEAD_END)
    expect(await server.until(body)).toHaveLength(size)

    // and the client only after all of the answer was
    browser.socket.pause()
    server.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${body}`)
    await new Promise((resolve) => setImmediate(resolve))
    browser.socket.resume()
    await browser.until(HEAD_END)
    expect(await browser.until(body)).toHaveLength(size)
  })
})

describe("a backend that should speak TLS and does not", () => {
  test("gets nothing of the request, which goes to another endpoint", async () => {
    using plain = await backend()
    using web = await backend(certificate)
    await using proxy = await startProxy({ protocol: "https1", endpoints: [plain.port, web.port] })
    const browser = await client(proxy.port)
    browser.send(POST)
    const first = await plain.connection()
    first.send("HTTP/1.1 400 Bad Request\r\n\r\n")
    const server = await web.connection()
    await server.until("body")
    server.send(OK)
    expect(await browser.until("ok")).toBe(OK)
    expect(first.received).not.toContain("POST")
  })

  test("makes the request fail with 502, or with 504 when it does not answer within the timeout", async () => {
    using plain = await backend()
    await using proxy = await startProxy({
      protocol: "https1",
      endpoints: [plain.port],
      policy: { connectMs: 200, retries: 0 },
    })
    const answers = async () => {
      const browser = await client(proxy.port)
      browser.send(GET)
      return { peer: await plain.connection(), answer: browser.until("\r\n") }
    }
    const first = await answers()
    first.peer.send("HTTP/1.1 400 Bad Request\r\n\r\n")
    expect(await first.answer).toStartWith("HTTP/1.1 502 ")
    const second = await answers()
    expect(await second.answer).toStartWith("HTTP/1.1 504 ")
    await second.peer.untilEnd()
  })
})

test("a connection without TLS is not reused for a backend with TLS", async () => {
  // given an idle connection to an endpoint
  using web = await backend()
  const connector = new Http1Connector(new Watchdog(realClock))
  const endpoint = { address: "127.0.0.1", port: web.port, key: `127.0.0.1:${web.port}` }
  const ended = new Promise<void>((resolve, reject) => {
    connector.connect(endpoint, "http1", false, (upstream) => {
      if (upstream instanceof Error) return reject(upstream)
      const ignore = () => undefined
      const end = () => resolve()
      const handlers = { head: ignore, data: ignore, flush: ignore, drained: ignore, failed: ignore, end }
      const framing = { kind: "none" } as const
      const request = { method: "GET", target: "/", authority: "a", fields: [], framing, upgrade: undefined }
      upstream.send({ ...request, isSecure: false }, handlers)
      upstream.end([])
    })
  })
  const server = await web.connection()
  await server.until(HEAD_END)
  server.send(OK)
  await ended

  // when the same endpoint is asked over TLS, and without
  const results: (Upstream | Error)[] = []
  const giveUp = connector.connect(endpoint, "https1", false, (result) => void results.push(result))
  expect(results).toEqual([])
  giveUp()
  connector.connect(endpoint, "http1", false, (result) => void results.push(result))

  // then only the second gets the idle one
  expect(results).toEqual([expect.objectContaining({ isReused: true })])
  connector.stop()
})
