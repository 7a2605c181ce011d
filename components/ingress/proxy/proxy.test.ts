import { describe, expect, test } from "bun:test"
import { tlsClient, type Peer } from "./proxy.fixtures.ts"
import { GET, HEAD_END, OK, POST, through } from "./proxied-client.fixtures.ts"

describe("the proxy forwards", () => {
  test("requests and responses, and reuses both connections", async () => {
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

  test("bodies with a length and in chunks, with trailers, as their parts arrive", async () => {
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

  test("a response that ends with its connection, as chunks", async () => {
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

  test("a response in chunks to an HTTP/1.0 client, until the end of the connection", async () => {
    await using given = await through()
    given.browser.send("GET / HTTP/1.0\r\n\r\n")
    const server = await given.web.connection()
    expect(await server.until(HEAD_END)).toStartWith("GET / HTTP/1.1\r\nHost: \r\n")
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n")
    expect(await given.browser.untilEnd()).toBe("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nde")
  })

  test("the length of a response to HEAD, without a body", async () => {
    await using given = await through()
    given.browser.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
    const server = await given.web.connection()
    await server.until(HEAD_END)
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    expect(await given.browser.until(HEAD_END)).toBe("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    given.browser.send(GET)
    await server.until(HEAD_END)
  })

  test("pipelined requests, one after the other", async () => {
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

  test("100 Continue once a backend is connected, and a body that has waited for it", async () => {
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

  test("an upgraded connection over TLS, with the scheme in a header for the backend", async () => {
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

  test("a response that comes before the end of a large body, and closes the connection", async () => {
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

  test("for responses", async () => {
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
