import { describe, expect, test } from "bun:test"
import { once } from "node:events"
import {
  connect,
  createSecureServer,
  createServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2"
import type { AddressInfo } from "node:net"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import { backend, startProxy } from "../proxy/proxy.fixtures.ts"

const validity = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 86_400_000) }
/** A certificate of an unknown CA, for another name than the backend's: the proxy verifies neither. */
const certificate = issueCertificate(createCa({ commonName: "unknown", validity }), {
  subject: { commonName: "elsewhere.example", organizations: [] },
  usages: ["server"],
  dnsNames: ["elsewhere.example"],
  validity,
})

/** A backend of HTTP/2, without TLS unless the options say so, and a client of HTTP/2 over TLS. */
async function through(options: Omit<Parameters<typeof startProxy>[0], "endpoints"> = {}) {
  const { certPem: cert, keyPem: key } = certificate
  const server = options.protocol === "h2" ? createSecureServer({ cert, key }) : createServer()
  const streams: [ServerHttp2Stream, IncomingHttpHeaders][] = []
  const waiting: ((found: [ServerHttp2Stream, IncomingHttpHeaders]) => void)[] = []
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("error", () => undefined)
    const next = waiting.shift()
    if (next === undefined) streams.push([stream, headers])
    else next([stream, headers])
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const proxy = await startProxy({
    protocol: "h2c",
    ...options,
    endpoints: [(server.address() as AddressInfo).port],
  })
  const browser = client(proxy.tlsPort)
  return {
    proxy,
    browser,
    /** The next request that reaches the backend. */
    asked: (): Promise<[ServerHttp2Stream, IncomingHttpHeaders]> => {
      const known = streams.shift()
      return known === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(known)
    },
    async [Symbol.asyncDispose]() {
      browser.destroy()
      await proxy[Symbol.asyncDispose]()
      server.close()
    },
  }
}

function client(port: number): ClientHttp2Session {
  const session = connect(`https://localhost:${port}`, { rejectUnauthorized: false })
  session.on("error", () => undefined)
  return session
}

function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, endStream = false): ClientHttp2Stream {
  const stream = session.request({ ":authority": "shop.example", ...headers }, { endStream })
  stream.on("error", () => undefined)
  return stream
}

/** Resolves when a stream is closed, with an error or without. */
const closed = (stream: Http2Stream) =>
  new Promise<void>((resolve) => (stream.closed ? resolve() : void stream.once("close", () => resolve())))

/** The head, the body and the trailers of an answer. */
async function answerOf(stream: ClientHttp2Stream) {
  let body = ""
  let trailers: IncomingHttpHeaders = {}
  stream.on("data", (chunk) => (body += String(chunk)))
  stream.on("trailers", (received) => (trailers = received))
  const [head] = (await once(stream, "response")) as [IncomingHttpHeaders]
  await closed(stream)
  return { status: head[":status"] as unknown as number, head, body, trailers }
}

describe("HTTP/2", () => {
  test.each([
    { title: "without TLS", protocol: "h2c" as const },
    { title: "over TLS", protocol: "h2" as const },
  ])("carries gRPC in both directions at once, with trailers, to a backend $title", async ({ protocol }) => {
    // given
    await using given = await through({ protocol })
    const call = ask(given.browser, {
      ":method": "POST",
      ":path": "/echo.Echo/Chat",
      "content-type": "application/grpc",
      te: "trailers",
    })
    const [stream, headers] = await given.asked()
    expect(headers).toMatchObject({
      ":method": "POST",
      ":path": "/echo.Echo/Chat",
      ":authority": "shop.example",
      "content-type": "application/grpc",
      te: "trailers",
      "x-forwarded-proto": "https",
    })
    expect(headers["content-length"]).toBeUndefined()

    // when both sides speak in turn
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
    stream.on("data", (chunk) => stream.write(`echo ${String(chunk)}`))
    stream.on("end", () => stream.end())
    const answer = answerOf(call)
    for (const word of ["one", "two"]) {
      call.write(word)
      await once(call, "data")
    }
    call.end()

    // then
    expect(await answer).toMatchObject({ status: 200, body: "echo oneecho two", trailers: { "grpc-status": "0" } })
    expect(given.proxy.finished[0]).toMatchObject({ status: 200, received: 6, sent: 16 })
  })

  test("is accepted without TLS from clients that begin with its preface", async () => {
    await using given = await through()
    const plain = connect(`http://127.0.0.1:${given.proxy.port}`)
    const call = ask(plain, { ":path": "/plain" }, true)
    const [stream, headers] = await given.asked()
    expect(headers).toMatchObject({ ":path": "/plain", "x-forwarded-proto": "http" })
    stream.respond({ ":status": 200 })
    stream.end("hello")
    expect(await answerOf(call)).toMatchObject({ status: 200, body: "hello" })
    plain.destroy()
  })

  test("carries a response of trailers only, as gRPC's errors are", async () => {
    await using given = await through()
    const call = ask(given.browser, { ":method": "POST", ":path": "/" })
    call.end("x")
    const [stream] = await given.asked()
    stream.respond({ ":status": 200, "grpc-status": "12" }, { endStream: true })
    expect(await answerOf(call)).toMatchObject({ status: 200, body: "", head: { "grpc-status": "12" } })
  })

  test("is translated to HTTP/1.1 for a backend without HTTP/2", async () => {
    // given
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [web.port] })
    const browser = client(proxy.tlsPort)
    const call = ask(browser, { ":method": "POST", ":path": "/a?b", cookie: "x=1", "x-many": ["1", "2"] })
    call.end("body")

    // then its body goes in chunks
    const server = await web.connection()
    const asked = await server.until("\r\n0\r\n\r\n")
    expect(asked).toStartWith("POST /a?b HTTP/1.1\r\nHost: shop.example\r\n")
    expect(asked).toContain("\r\nTransfer-Encoding: chunked\r\n")
    expect(asked).toContain("4\r\nbody\r\n")

    // and the answer comes back, with its trailers
    server.send("HTTP/1.1 201 Created\r\nConnection: X\r\nX: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n")
    server.send("Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n")
    const { status, head, body, trailers } = await answerOf(call)
    expect({ status, cookies: head["set-cookie"], x: head["x"], body }).toEqual({
      status: 201,
      cookies: ["a", "b"],
      x: undefined,
      body: "ok",
    })
    expect(trailers["x-sum"]).toBe("1")
    browser.destroy()
  })

  test("serves many requests concurrently on one connection", async () => {
    await using given = await through()
    const paths = Array.from({ length: 50 }, (_, i) => `/${i}`)
    const answers = paths.map((path) => answerOf(ask(given.browser, { ":path": path }, true)))
    for (const _path of paths) {
      const [stream, headers] = await given.asked()
      stream.respond({ ":status": 200 })
      stream.end(headers[":path"])
    }
    expect((await Promise.all(answers)).map(({ body }) => body)).toEqual(paths)
  })

  test("responds with 404 without a route, and with 503 without an endpoint", async () => {
    await using given = await startProxy({ endpoints: [] })
    const browser = client(given.tlsPort)
    const statuses = await Promise.all(
      ["unknown", "shop.example"].map(async (authority) => {
        const { status } = await answerOf(ask(browser, { ":path": "/", ":authority": authority }, true))
        return status
      }),
    )
    expect(statuses).toEqual([404, 503])
    browser.destroy()
  })

  test("resets the stream to the backend when a client cancels a request", async () => {
    await using given = await through()
    const call = ask(given.browser, { ":path": "/" }, true)
    const [stream] = await given.asked()
    call.close(8)
    await closed(stream)
    await given.proxy.whenFinished(1)
    expect(given.proxy.finished[0]!.status).toBe(499)
  })

  test("resets the client's stream when a backend aborts its response", async () => {
    await using given = await through()
    const call = ask(given.browser, { ":path": "/" }, true)
    const [stream] = await given.asked()
    stream.respond({ ":status": 200 })
    stream.write("part")
    await once(call, "data")
    stream.destroy(new Error("broken"))
    await closed(call)
    expect(call.rstCode).not.toBe(0)
  })

  test("refuses a body whose length differs from Content-Length", async () => {
    await using given = await through()
    const call = ask(given.browser, { ":method": "POST", ":path": "/", "content-length": "3" })
    call.end("more than that")
    await closed(call)
    expect(call.rstCode).not.toBe(0)
  })

  test.each([
    { title: "two hosts", headers: { ":authority": "a", host: "b" } },
    { title: "an invalid host", headers: { ":authority": "a/b" } },
    { title: "an invalid path", headers: { ":path": "nowhere" } },
    { title: "an invalid length", headers: { "content-length": "1x" } },
  ])("refuses a request with $title without calling a backend", async ({ headers }) => {
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [web.port] })
    const browser = client(proxy.tlsPort)
    const call = browser.request({ ":path": "/", ...headers }, { endStream: true })
    call.on("error", () => undefined)
    let status: unknown
    call.on("response", (head) => (status = head[":status"]))
    await closed(call)
    expect(status === undefined || status === 400).toBe(true)
    expect(web.unclaimed).toBe(0)
    browser.destroy()
  })

  test("closes the connection of a client that cancels one request after the other", async () => {
    await using given = await through()
    const ended = once(given.browser, "close")
    let calls = 0
    const hammer = () => {
      if (given.browser.closed || given.browser.destroyed || ++calls > 2000) return
      const call = ask(given.browser, { ":path": "/" }, true)
      call.on("close", hammer)
      call.close(8)
    }
    for (let i = 0; i < 50; i++) hammer()
    await ended
    expect(calls).toBeLessThan(2000)
  })

  const PART = Buffer.alloc(65_536)
  /** Writes up to 64 MB, and gives how many went before nothing moved any more. */
  async function pour(stream: ClientHttp2Stream | ServerHttp2Stream): Promise<number> {
    let sent = 0
    for (; sent < 1024; sent++) {
      if (stream.write(PART)) continue
      const drained = new Promise<boolean>((resolve) => stream.once("drain", () => resolve(true)))
      const stuck = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300))
      if (!(await Promise.race([drained, stuck]))) break
    }
    return sent / 16
  }

  test("does not read a response faster than the client", async () => {
    await using given = await through()
    const call = ask(given.browser, { ":path": "/" }, true)
    const [stream] = await given.asked()
    stream.respond({ ":status": 200 })
    await once(call, "response")
    call.pause()
    expect(await pour(stream)).toBeLessThan(32)
  })

  test("does not read a body faster than the backend", async () => {
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [web.port] })
    const browser = client(proxy.tlsPort)
    const call = ask(browser, { ":method": "POST", ":path": "/" })
    call.write(PART)
    const server = await web.connection()
    server.socket.pause()
    expect(await pour(call)).toBeLessThan(32)
    browser.destroy()
  })
})

test("a request of HTTP/2 whose path can be read in two ways is refused with 400", async () => {
  await using lab = await through()
  for (const path of [
    "/public//../admin",
    "/public/%c0%ae%c0%ae/admin",
    "/public/..%00/admin",
    "/public/..%09/admin",
  ]) {
    const request = lab.browser.request({ ":path": path })
    const [headers] = (await once(request, "response")) as [IncomingHttpHeaders]
    expect(Number(headers[":status"])).toBe(400)
    request.close()
  }
})
