import { describe, expect, test } from "bun:test"
import { backend, client, deadPort, startProxy, tlsClient, type Peer } from "./proxy.fixtures.ts"

const GET = "GET /a?b HTTP/1.1\r\nHost: shop.example\r\n\r\n"
const POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
const HEAD_END = "\r\n\r\n"

/** A proxy with one backend, and a client's connection. */
async function through(options: Omit<Parameters<typeof startProxy>[0], "endpoints"> = {}) {
  const web = await backend()
  const proxy = await startProxy({ ...options, endpoints: [web.port] })
  const browser = await client(proxy.port)
  return {
    web,
    proxy,
    browser,
    async [Symbol.asyncDispose]() {
      browser.socket.destroy()
      web[Symbol.dispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

describe("the proxy passes on", () => {
  test("requests and answers, and uses both connections again", async () => {
    // given
    await using given = await through()
    const { web, proxy, browser } = given
    const connection = web.connection()

    for (const _round of [1, 2]) {
      // when
      browser.send(GET)
      const server = await connection
      const asked = await server.until(HEAD_END)
      server.send(OK)

      // then
      expect(asked.split("\r\n")).toEqual([
        "GET /a?b HTTP/1.1",
        "Host: shop.example",
        "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-Host: shop.example",
        `X-Forwarded-Port: ${proxy.port}`,
        "X-Forwarded-Proto: http",
        "X-Real-IP: 127.0.0.1",
        "",
        "",
      ])
      expect(await browser.until("ok")).toBe(OK)
    }
    expect(web.unclaimed).toBe(0)
    expect(proxy.finished.map(({ status, sent }) => [status, sent])).toEqual([
      [200, 2],
      [200, 2],
    ])
  })

  test("bodies of a length and in chunks, with trailers, as their parts come", async () => {
    // given
    await using given = await through()
    const { web, browser } = given

    // when a body comes in parts
    browser.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    const server = await web.connection()

    // then each part arrives before the next is sent
    expect(await server.until("3\r\nabc\r\n")).toContain("\r\nTransfer-Encoding: chunked\r\n")
    browser.send("1;x=y\r\nd\r\n")
    expect(await server.until("1\r\nd\r\n")).toBe("1\r\nd\r\n")
    browser.send("0\r\nX-Sum: 4\r\n\r\n")
    expect(await server.until(HEAD_END)).toBe("0\r\nX-Sum: 4\r\n\r\n")

    // and the same holds for the answer
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n")
    expect(await browser.until("2\r\nde\r\n")).toBe("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n")
    server.send("1\r\nf\r\n0\r\nGrpc-Status: 0\r\n\r\n")
    expect(await browser.until("0\r\nGrpc-Status: 0\r\n\r\n")).toBe("1\r\nf\r\n0\r\nGrpc-Status: 0\r\n\r\n")

    // and the connections serve another request
    browser.send(POST)
    expect(await server.until("body")).toContain("\r\nContent-Length: 4\r\n")
    server.send(OK)
    await browser.until("ok")
  })

  test("an answer that ends with its connection as chunks", async () => {
    await using given = await through()
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send("HTTP/1.1 200 OK\r\n\r\nall of it")
    server.socket.end()
    expect(await given.browser.until("0\r\n\r\n")).toBe(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nall of it\r\n0\r\n\r\n",
    )
  })

  test("an answer in chunks to a client of HTTP/1.0 until the connection's end", async () => {
    await using given = await through()
    given.browser.send("GET / HTTP/1.0\r\n\r\n")
    const server = await given.web.connection()
    expect(await server.until(HEAD_END)).toStartWith("GET / HTTP/1.1\r\nHost: \r\n")
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n")
    expect(await given.browser.untilEnd()).toBe("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nde")
  })

  test("the length of what HEAD asks for, without a body", async () => {
    await using given = await through()
    given.browser.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    expect(await given.browser.until(HEAD_END)).toBe("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    given.browser.send(GET)
    await server.until(HEAD_END)
  })

  test("requests that come together one after the other", async () => {
    await using given = await through()
    const answerAll = async (peer: Peer) => {
      for (let path = "x"; path !== "";) {
        path = /(\/\d) /.exec(await peer.until(HEAD_END).catch(() => ""))?.[1] ?? ""
        peer.send(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${path}`)
      }
    }
    for (const _connection of [1, 2, 3]) void given.web.connection().then(answerAll)
    given.browser.send(["/1", "/2", "/3"].map((path) => POST.replace("/", path)).join(""))
    expect((await given.browser.until("/3")).split("\r\n").filter((line) => line.startsWith("/"))).toEqual([
      "/1HTTP/1.1 200 OK",
      "/2HTTP/1.1 200 OK",
      "/3",
    ])
  })

  test("100 Continue once a backend is there, and a body that waited for it", async () => {
    await using given = await through()
    given.browser.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
    expect(await given.browser.until(HEAD_END)).toBe("HTTP/1.1 100 Continue\r\n\r\n")
    given.browser.send("body")
    const server = await given.web.connection()
    expect(await server.until("body")).not.toContain("Expect")
    server.send(`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}`)
    expect(await given.browser.until("ok")).toBe(OK)
  })

  test("both directions of an upgraded connection, each to its own end", async () => {
    // given
    await using given = await through()
    const { browser } = given
    browser.send("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n")
    const server = await given.web.connection()
    expect(await server.until(HEAD_END)).toEndWith("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")

    // when the backend changes the protocol, and says something in the same breath
    const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    server.send(`${head}hello`)

    // then
    expect(await browser.until("hello")).toBe(`${head}hello`)
    browser.send("\x00GET / HTTP/1.1\r\n\r\n")
    expect(await server.until("\r\n\r\n")).toBe("\x00GET / HTTP/1.1\r\n\r\n")
    browser.socket.end()
    await server.untilEnd()
    server.send("goodbye")
    server.socket.end()
    expect(await browser.untilEnd()).toBe("goodbye")
    await given.proxy.whenFinished(1)
    expect(given.proxy.finished[0]).toMatchObject({ status: 101, sent: 12, received: 19 })
  })

  test("an upgraded connection over TLS, and says so to the backend", async () => {
    await using given = await through()
    const browser = await tlsClient(given.proxy.tlsPort)
    browser.send("GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    const server = await given.web.connection()
    expect(await server.until(HEAD_END)).toContain("\r\nX-Forwarded-Proto: https\r\n")
    server.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nhello")
    await browser.until("hello")
    browser.send("hi")
    await server.until("hi")
    const large = "x".repeat(1_000_000)
    server.send(`${large}end`)
    expect(await browser.until("end")).toBe(`${large}end`)
    server.socket.end()
    await browser.untilEnd()
    browser.socket.destroy()
  })

  test("an answer that comes before the end of a large body, and closes", async () => {
    await using given = await through()
    given.browser.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(1000)}`)
    const server = await given.web.connection()
    await server.until("x".repeat(1000))
    server.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    expect(await given.browser.untilEnd()).toBe(
      "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
    )
    await server.untilEnd()
  })
})

describe("while one side does not read, the proxy does not read the other", () => {
  const PART = "x".repeat(65_536)
  /** Sends 64 MB, and resolves when nothing more goes or all is gone. */
  async function pour(peer: Peer): Promise<number> {
    const { socket } = peer
    let sent = 0
    for (; sent < 1024; sent++) {
      if (socket.write(PART)) continue
      const drained = new Promise<boolean>((resolve) => socket.once("drain", () => resolve(true)))
      const stuck = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 200))
      if (!(await Promise.race([drained, stuck]))) break
    }
    return sent / 16
  }

  test("for answers", async () => {
    await using given = await through()
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    given.browser.socket.pause()
    server.send(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * 1024 * 1024}\r\n\r\n`)
    expect(await pour(server)).toBeLessThan(32)
  })

  test("for bodies of requests", async () => {
    await using given = await through()
    given.browser.send(`PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: ${64 * 1024 * 1024}\r\n\r\n`)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.socket.pause()
    expect(await pour(given.browser)).toBeLessThan(32)
  })
})

describe("where a backend fails, the proxy", () => {
  test("asks another endpoint when one cannot be connected to, even with a body", async () => {
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [await deadPort(), web.port] })
    const browser = await client(proxy.port)
    browser.send(POST)
    const server = await web.connection()
    await server.until("body")
    server.send(OK)
    expect(await browser.until("ok")).toBe(OK)
  })

  test("asks another endpoint when one is lost before its answer, where the request may come twice", async () => {
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
    { title: "may not come twice", request: "POST / HTTP/1.1\r\nHost: a\r\n\r\n" },
  ])("answers 502 when an endpoint is lost before its answer and the request $title", async ({ request }) => {
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

  test("answers 502 when no endpoint can be reached, and 503 when there is none", async () => {
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
    { title: "is lost in the middle of its answer", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart" },
    { title: "breaks its chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\nxyz\r\n" },
  ])("cuts the client's connection when an endpoint $title", async ({ answer }) => {
    await using given = await through()
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send(answer)
    server.socket.end()
    expect(await given.browser.untilEnd()).not.toContain("0\r\n\r\n")
  })

  test.each([
    { title: "speaks something else", answer: "SSH-2.0-OpenSSH\r\n\r\n" },
    {
      title: "frames its answer twice",
      answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    },
    { title: "changes the protocol unasked", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n" },
    { title: "sends a head without end", answer: `HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}` },
  ])("answers 502 when an endpoint $title", async ({ answer }) => {
    await using given = await through({ policy: { retries: 0 } })
    given.browser.send(GET)
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send(answer)
    expect(await given.browser.until(HEAD_END)).toStartWith("HTTP/1.1 502 Bad Gateway\r\n")
  })

  test("does not use a connection again on which an endpoint says more than its answer", async () => {
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
  test("a client that goes away takes the request to the backend with it", async () => {
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
    { title: "a length beside chunks", fields: "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n" },
    { title: "two lengths", fields: "Content-Length: 4\r\nContent-Length: 5\r\n" },
    { title: "an encoding that hides", fields: "Transfer-Encoding: xchunked\r\n" },
    { title: "a space before a colon", fields: "Transfer-Encoding : chunked\r\n" },
    { title: "a line feed alone", fields: "X: 1\nTransfer-Encoding: chunked\r\n" },
  ])("a request with $title is refused and its connection closed", async ({ fields }) => {
    await using given = await through()
    given.browser.send(`POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(await given.browser.untilEnd()).toMatch(/^HTTP\/1\.1 (400|501) [^]*Connection: close/)
    expect(given.web.unclaimed).toBe(0)
  })

  test("a broken chunk ends both connections", async () => {
    await using given = await through()
    given.browser.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
    const server = await given.web.connection()
    await server.until("1\r\na\r\n")
    given.browser.send("zz\r\n")
    expect(await server.untilEnd()).toBe("")
    expect(await given.browser.untilEnd()).toBe("")
  })

  test.each([
    { title: "says that it is larger", request: "Content-Length: 9\r\n\r\n" },
    { title: "turns out to be larger", request: "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n" },
  ])("a body that $title than the Ingress lets through is refused with 413", async ({ request }) => {
    await using given = await through({ policy: { maxBodyBytes: 8 } })
    given.browser.send(`POST / HTTP/1.1\r\nHost: a\r\n${request}`)
    expect(await given.browser.until(HEAD_END)).toStartWith("HTTP/1.1 413 Content Too Large\r\n")
  })

  test("a path that no rule is for is answered with 404 on a connection that goes on", async () => {
    await using given = await through()
    for (const _round of [1, 2]) {
      given.browser.send("GET / HTTP/1.1\r\nHost: unknown\r\n\r\n")
      expect(await given.browser.until("path\n")).toStartWith("HTTP/1.1 404 Not Found\r\n")
    }
  })

  test("a head that is longer than 32 KiB is refused with 431", async () => {
    await using given = await through()
    given.browser.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(33_000)}`)
    expect(await given.browser.untilEnd()).toStartWith("HTTP/1.1 431 ")
  })

  test("a head that does not come to its end in time is refused with 408", async () => {
    await using given = await through({ limits: { headMs: 100 } })
    given.browser.send("GET / HTTP/1.1\r\nHost: a\r\n")
    const drip = setInterval(() => given.browser.send("X: y\r\n"), 20)
    expect(await given.browser.untilEnd()).toStartWith("HTTP/1.1 408 Request Timeout\r\n")
    clearInterval(drip)
  })

  test("a connection without a request is closed, a new one and one that has had its answer", async () => {
    await using given = await through({ limits: { headMs: 100, idleMs: 100 } })
    const silent = await client(given.proxy.port)
    given.browser.send(GET)
    const server = await given.web.connection()
    server.send(OK)
    expect(await given.browser.untilEnd()).toBe(OK)
    expect(await silent.untilEnd()).toBe("")
  })

  test("a backend that does not answer in time is given up with 504", async () => {
    await using given = await through({ policy: { responseMs: 100 } })
    given.browser.send(GET)
    const server = await given.web.connection()
    expect(await given.browser.until(HEAD_END)).toStartWith("HTTP/1.1 504 Gateway Timeout\r\n")
    await server.untilEnd()
  })

  test("an answer in which nothing moves any more is broken off", async () => {
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

  test("a request without TLS is sent to TLS where the Ingress says so", async () => {
    await using given = await through({ policy: { redirectToHttps: true } })
    given.browser.send("GET /a?b HTTP/1.1\r\nHost: shop.example:80\r\n\r\n")
    expect(await given.browser.until(HEAD_END)).toMatch(
      /^HTTP\/1\.1 308 Permanent Redirect\r\nLocation: https:\/\/shop\.example\/a\?b\r\n/,
    )
  })
})
