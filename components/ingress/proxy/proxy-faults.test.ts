/** What the proxy does when backends fail, and when clients or backends misbehave. */
import { describe, expect, test } from "bun:test"
import { backend, client, deadPort, startProxy } from "./proxy.fixtures.ts"
import { GET, HEAD_END, OK, POST, through } from "./proxied-client.fixtures.ts"

describe("where a backend fails, the proxy", () => {
  test("tries another endpoint when a connection to one cannot be opened, even for a request with a body", async () => {
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [await deadPort(), web.port] })
    const browser = await client(proxy.port)
    browser.send(POST)
    const server = await web.connection()
    await server.until("body")
    server.send(OK)
    expect(await browser.until("ok")).toBe(OK)
  })

  test("tries another endpoint when one is lost before its response, if the request is idempotent", async () => {
    using first = await backend()
    using second = await backend()
    await using proxy = await startProxy({ endpoints: [first.port, second.port] })
    const browser = await client(proxy.port)
    browser.send(GET)
    const lost = await first.connection()
    await lost.until(HEAD_END)
    lost.socket.destroy()
    const server = await second.connection()
    await server.until(HEAD_END)
    server.send(OK)
    expect(await browser.until("ok")).toBe(OK)
  })

  test.each([
    { title: "has a body", request: POST },
    { title: "is not idempotent", request: "POST / HTTP/1.1\r\nHost: a\r\n\r\n" },
  ])("responds with 502 when an endpoint is lost before its response and the request $title", async ({ request }) => {
    using first = await backend()
    using second = await backend()
    await using proxy = await startProxy({ endpoints: [first.port, second.port] })
    const browser = await client(proxy.port)
    browser.send(request)
    const lost = await first.connection()
    await lost.until(HEAD_END)
    lost.socket.destroy()
    expect(await browser.until(HEAD_END)).toStartWith("HTTP/1.1 502 Bad Gateway\r\n")
    expect(second.unclaimed).toBe(0)
  })

  test("responds with 502 when no endpoint can be reached, and with 503 when there is none", async () => {
    await using unreachable = await startProxy({ endpoints: [await deadPort(), await deadPort()] })
    await using empty = await startProxy({ endpoints: [] })
    const statuses = await Promise.all(
      [unreachable, empty].map(async ({ port }) => {
        const browser = await client(port)
        browser.send(GET)
        return (await browser.until("\r\n")).trim()
      }),
    )
    expect(statuses).toEqual(["HTTP/1.1 502 Bad Gateway", "HTTP/1.1 503 Service Unavailable"])
  })

  test.each([
    { title: "is lost in the middle of its response", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart" },
    {
      title: "sends an invalid chunk",
      answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\nxyz\r\n",
    },
  ])("closes the client's connection when an endpoint $title", async ({ answer }) => {
    await using given = await through()
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send(answer)
    server.socket.end()
    expect(await given.browser.untilEnd()).not.toContain("0\r\n\r\n")
  })

  test.each([
    { title: "speaks another protocol", answer: "SSH-2.0-OpenSSH\r\n\r\n" },
    {
      title: "sends both a length and chunks",
      answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    },
    { title: "switches protocols unasked", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n" },
    { title: "sends a head without end", answer: `HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}` },
  ])("responds with 502 when an endpoint $title", async ({ answer }) => {
    await using given = await through({ policy: { retries: 0 } })
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send(answer)
    expect(await given.browser.until(HEAD_END)).toStartWith("HTTP/1.1 502 Bad Gateway\r\n")
  })

  test("does not reuse a connection on which an endpoint has sent more than its response", async () => {
    await using given = await through()
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`)
    await given.browser.until("ok")
    given.browser.send(GET)
    const another = await given.web.connection()
    await another.until(HEAD_END)
    another.send(OK)
    expect(await given.browser.until("ok")).toBe(OK)
  })
})

describe("the proxy defends backends and itself:", () => {
  test("a client that disconnects cancels its request to the backend", async () => {
    await using given = await through()
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    given.browser.socket.destroy()
    await server.untilEnd()
    await given.proxy.whenFinished(1)
    expect(given.proxy.finished[0]!.status).toBe(499)
  })

  test.each([
    { title: "a length and chunks", fields: "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n" },
    { title: "two lengths", fields: "Content-Length: 4\r\nContent-Length: 5\r\n" },
    { title: "an unknown transfer coding", fields: "Transfer-Encoding: xchunked\r\n" },
    { title: "a space before a colon", fields: "Transfer-Encoding : chunked\r\n" },
    { title: "a line feed without a carriage return", fields: "X: 1\nTransfer-Encoding: chunked\r\n" },
  ])("a request with $title is refused and its connection closed", async ({ fields }) => {
    await using given = await through()
    given.browser.send(`POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(await given.browser.untilEnd()).toMatch(/^HTTP\/1\.1 (400|501) [^]*Connection: close/)
    expect(given.web.unclaimed).toBe(0)
  })

  test("an invalid chunk closes both connections", async () => {
    await using given = await through()
    given.browser.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
    const server = await given.web.connection()
    await server.until("1\r\na\r\n")
    given.browser.send("zz\r\n")
    expect(await server.untilEnd()).toBe("")
    expect(await given.browser.untilEnd()).toBe("")
  })

  test.each([
    { title: "announces that it is larger", request: "Content-Length: 9\r\n\r\n" },
    { title: "turns out to be larger", request: "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n" },
  ])("a body that $title than the Ingress allows is refused with 413", async ({ request }) => {
    await using given = await through({ policy: { maxBodyBytes: 8 } })
    given.browser.send(`POST / HTTP/1.1\r\nHost: a\r\n${request}`)
    expect(await given.browser.until(HEAD_END)).toStartWith("HTTP/1.1 413 Content Too Large\r\n")
  })

  test("a path without a rule is answered with 404, and the connection stays open", async () => {
    await using given = await through()
    for (const _round of [1, 2]) {
      given.browser.send("GET / HTTP/1.1\r\nHost: unknown\r\n\r\n")
      expect(await given.browser.until("path\n")).toStartWith("HTTP/1.1 404 Not Found\r\n")
    }
  })

  test("a head that does not end in time is refused with 408", async () => {
    await using given = await through({ limits: { headMs: 100 } })
    given.browser.send("GET / HTTP/1.1\r\nHost: a\r\n")
    const drip = setInterval(() => given.browser.send("X: y\r\n"), 20)
    expect(await given.browser.untilEnd()).toStartWith("HTTP/1.1 408 Request Timeout\r\n")
    clearInterval(drip)
  })

  test("a connection without a request is closed after a timeout, whether it is new or has had a response", async () => {
    await using given = await through({ limits: { headMs: 100, idleMs: 100 } })
    const silent = await client(given.proxy.port)
    given.browser.send(GET)
    const server = await given.web.connection()
    server.send(OK)
    expect(await given.browser.untilEnd()).toBe(OK)
    expect(await silent.untilEnd()).toBe("")
  })

  test("a backend that does not respond in time is given up with 504", async () => {
    await using given = await through({ policy: { responseMs: 100 } })
    given.browser.send(GET)
    const server = await given.web.connection()
    expect(await given.browser.until(HEAD_END)).toStartWith("HTTP/1.1 504 Gateway Timeout\r\n")
    await server.untilEnd()
  })

  test("a response that stops in the middle is aborted after a timeout", async () => {
    await using given = await through({ policy: { idleMs: 100 } })
    given.browser.send(GET)
    const server = await given.web.connection()
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
    expect(await given.browser.untilEnd()).toEndWith("part")
  })

  test("one client cannot take all connections", async () => {
    await using given = await through({ limits: { connections: 8 } })
    const others = await Promise.all(Array.from({ length: 8 }, () => client(given.proxy.port)))
    await Promise.race(others.map((other) => other.untilEnd()))
    given.browser.send(GET)
    await (await given.web.connection()).until(HEAD_END)
    others.forEach(({ socket }) => socket.destroy())
  })

  test("a request without TLS is redirected to HTTPS if the Ingress says so", async () => {
    await using given = await through({ policy: { redirectToHttps: true } })
    given.browser.send("GET /a?b HTTP/1.1\r\nHost: shop.example:80\r\n\r\n")
    expect(await given.browser.until(HEAD_END)).toMatch(
      /^HTTP\/1\.1 308 Permanent Redirect\r\nLocation: https:\/\/shop\.example\/a\?b\r\n/,
    )
  })
})
