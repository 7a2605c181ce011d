import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { createServer } from "node:http"
import { createServer as createTcp, type AddressInfo, type Socket } from "node:net"
import { realClock } from "../../../../pkg/clock/real.ts"
import { hostNetwork } from "./network.ts"

const network = hostNetwork(realClock)
const host = "127.0.0.1"

describe("connections from the host to pods", () => {
  const seen: (readonly [string | undefined, string | undefined])[] = []
  const http = createServer((request, response) => {
    seen.push([request.headers["x-a"] as string | undefined, request.headers.host])
    if (request.url === "/greeting")
      response.writeHead(200).end(Buffer.from(String(request.headers["x-greeting"]), "latin1"))
    else if (request.url === "/moved") response.writeHead(302, { Location: "/here?x=1" }).end()
    else if (request.url === "/away") response.writeHead(302, { Location: "http://example.invalid/" }).end()
    else if (request.url?.startsWith("/status-")) {
      response.writeHead(Number(request.url.slice("/status-".length)), { Location: "/here" }).end()
    } else if (request.url === "/slow") return
    else
      response
        .writeHead(request.url === "/bad" ? 500 : 200)
        .end(`${request.url} ${"x".repeat(request.url === "/big" ? 50_000 : 0)}`)
  })
  let port = 0
  beforeAll(async () => {
    await new Promise<void>((resolve) => http.listen(0, host, resolve))
    port = (http.address() as AddressInfo).port
  })
  afterAll(() => {
    http.closeAllConnections()
    http.close()
  })
  const get = (path: string, timeoutMs = 1000) =>
    network.httpGet({
      scheme: "HTTP",
      host,
      port,
      path,
      headers: [
        { name: "X-A", value: "1" },
        { name: "Host", value: "name.example" },
      ],
      timeoutMs,
    })

  test("sends the given headers, and follows redirects on the same host only", async () => {
    expect(await get("/plain")).toMatchObject({ status: 200, body: "/plain " })
    expect(seen[0]).toEqual(["1", "name.example"])
    expect((await get("/moved")).body).toBe("/here?x=1 ")
    expect((await get("/away")).status).toBe(302)
    expect((await get("/bad")).status).toBe(500)
    expect((await get("/big")).body).toHaveLength(10_240)
  })

  test("sends headers as UTF-8", async () => {
    const headers = [{ name: "X-Greeting", value: "gr\u00fc\u00df \u20ac" }]
    expect(
      await network.httpGet({ scheme: "HTTP", host, port, path: "/greeting", headers, timeoutMs: 20_000 }),
    ).toMatchObject({ status: 200, body: "gr\u00fc\u00df \u20ac" })
  })

  test("follows the statuses of redirects only, as Go's client does", async () => {
    const statuses = [300, 301, 302, 303, 304, 305, 307, 308]
    const answers = await Promise.all(statuses.map(async (status) => (await get(`/status-${status}`)).status))
    expect(answers).toEqual([300, 200, 200, 200, 304, 305, 200, 200])
  })

  test("reports errors with Go's messages", async () => {
    await expect(get("/slow", 50)).rejects.toThrow(
      `Get "http://${host}:${port}/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    )
    await expect(
      network.httpGet({ scheme: "HTTP", host, port: 1, path: "/", headers: [], timeoutMs: 1000 }),
    ).rejects.toThrow(`Get "http://${host}:1/": dial tcp ${host}:1: connect: connection refused`)
    await expect(network.tcpConnect(host, 1, 1000)).rejects.toThrow(`dial tcp ${host}:1: connect: connection refused`)
  })

  /** How a server that accepts a connection fails it, when it has read the request. */
  const FAILURES: readonly {
    title: string
    scheme: "HTTP" | "HTTPS"
    fail: (socket: Socket) => void
    wants: RegExp
  }[] = [
    { title: "closes it", scheme: "HTTP", fail: (socket) => socket.end(), wants: /^EOF$/ },
    { title: "closes it", scheme: "HTTPS", fail: (socket) => socket.end(), wants: /^EOF$/ },
    ...(["HTTP", "HTTPS"] as const).map((scheme) => ({
      title: "resets it",
      scheme,
      fail: (socket: Socket) => socket.resetAndDestroy(),
      wants: /^read tcp (127\.0\.0\.1:\d+->)?127\.0\.0\.1:\d+: read: connection reset by peer$/,
    })),
    {
      title: "speaks no TLS",
      scheme: "HTTPS",
      fail: (socket) => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
      wants: /^http: server gave HTTP response to HTTPS client$/,
    },
    {
      title: "speaks no HTTP",
      scheme: "HTTP",
      fail: (socket) => socket.end("hello\r\n\r\n"),
      wants: /^net\/http: HTTP\/1.x transport connection broken: malformed HTTP response$/,
    },
    {
      title: "wants a certificate",
      scheme: "HTTPS",
      // A fatal TLS alert: handshake_failure.
      fail: (socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 40])),
      wants: /^remote error: tls: handshake failure$/,
    },
  ]
  test.each(FAILURES)("says in Go's words that a server $title ($scheme)", async ({ scheme, fail, wants }) => {
    // given
    const server = createTcp((socket) => {
      socket.on("error", () => {})
      socket.once("data", () => fail(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    const { port } = server.address() as AddressInfo
    // when
    const failure = await network
      .httpGet({ scheme, host, port, path: "/", headers: [], timeoutMs: 5000 })
      .catch((err: unknown) => (err as Error).message)
    server.close()
    // then
    const start = `Get "${scheme.toLowerCase()}://${host}:${port}/": `
    expect(failure).toStartWith(start)
    expect((failure as string).slice(start.length)).toMatch(wants)
  })

  test("connects to a TCP port, and closes the connection in order, so that no server speaks of a reset", async () => {
    // given
    const heard = Promise.withResolvers<string>()
    const server = createTcp((socket) => {
      socket.once("error", (err) => heard.resolve(err.message))
      socket.once("end", () => heard.resolve("end"))
      socket.resume()
    })
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    // when
    await network.tcpConnect(host, (server.address() as AddressInfo).port, 1000)
    // then
    expect(await heard.promise).toBe("end")
    server.close()
  })
})
