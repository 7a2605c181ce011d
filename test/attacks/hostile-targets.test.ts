import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { machineAddress } from "../../components/apiserver/serving/machine-address.fixtures.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, POD } from "./identities.ts"
import { dial, received } from "./target.ts"

/** Possible answers of a pod, byte for byte. */
const ANSWERS: Readonly<Record<string, string | Uint8Array>> = {
  nothing: "",
  "no HTTP": "SSH-2.0-OpenSSH_9.2\r\n",
  "another version": "HTTP/3.7 200 OK\r\n\r\n",
  "a status of two digits": "HTTP/1.1 99 Low\r\n\r\n",
  "a status of 600": "HTTP/1.1 600 High\r\nContent-Length: 0\r\n\r\n",
  "a status of 999": "HTTP/1.1 999 High\r\nContent-Length: 0\r\n\r\n",
  "a status of four digits": "HTTP/1.1 2000 OK\r\n\r\n",
  "a status that is no number": "HTTP/1.1 abc OK\r\n\r\n",
  "101 unasked": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello",
  "100 for ever": "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000),
  "103 before the answer":
    "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
  "204 with a body": "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
  "304 with a body": "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello",
  "a header of HTTP/2": "HTTP/1.1 200 OK\r\n:status: 500\r\nContent-Length: 2\r\n\r\nok",
  "headers that end with a connection":
    "HTTP/1.1 200 OK\r\nConnection: x-a\r\nX-A: 1\r\nKeep-Alive: 1\r\nProxy-Connection: a\r\nHTTP2-Settings: " +
    "AAMAAABk\r\nTE: gzip\r\nTrailer: x\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok",
  "a name with blanks": "HTTP/1.1 200 OK\r\nX A: 1\r\nContent-Length: 2\r\n\r\nok",
  "a name that is empty": "HTTP/1.1 200 OK\r\n: 1\r\nContent-Length: 2\r\n\r\nok",
  "a name with bytes above ASCII": "HTTP/1.1 200 OK\r\nX-\xe4: 1\r\nContent-Length: 2\r\n\r\nok",
  "a value with bytes above ASCII": "HTTP/1.1 200 OK\r\nX-A: \xe4\xff\x80\r\nContent-Length: 2\r\n\r\nok",
  "a value with control characters": "HTTP/1.1 200 OK\r\nX-A: a\x01\x7fb\r\nContent-Length: 2\r\n\r\nok",
  "a value with a line feed": "HTTP/1.1 200 OK\r\nX-A: a\n b\r\nContent-Length: 2\r\n\r\nok",
  "a zero byte": "HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 2\r\n\r\nok",
  "an invalid address": "HTTP/1.1 302 Found\r\nLocation: http://[::/x y\r\nContent-Length: 0\r\n\r\n",
  "an address that leads elsewhere": "HTTP/1.1 302 Found\r\nLocation: //elsewhere/x\r\nContent-Length: 0\r\n\r\n",
  "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nok",
  "a length below zero": "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
  "a length and chunks":
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
  "invalid chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n",
  "a chunk without end": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nok\r\n",
  "less than its length": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok",
  "more than its length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
  "a header of 2 MB": `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(2_000_000)}\r\nContent-Length: 2\r\n\r\nok`,
  "20,000 headers": `HTTP/1.1 200 OK\r\n${"X-A: a\r\n".repeat(20_000)}Content-Length: 2\r\n\r\nok`,
  "a page that says it is packed and is not":
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
  "a page in an encoding that nobody knows":
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: x-y, gzip\r\nContent-Length: 2\r\n\r\nok",
  "headers that are the server's":
    "HTTP/1.1 200 OK\r\nAudit-Id: forged\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 2\r\n\r\nok",
}

let server: TestServer
let identities: Identities
let target: Server
let path: string
let answer: string | Uint8Array = ""
/** The milliseconds after which the target resets its connections; by default it closes them in order. */
let cut: (() => number) | undefined
const sockets = new Set<Socket>()

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  target = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined)
    // It ends its side, so that an answer without a length has an end.
    socket.once("data", () => {
      const bytes = typeof answer === "string" ? Buffer.from(answer, "latin1") : answer
      if (cut === undefined) return void socket.end(bytes)
      socket.write(bytes)
      setTimeout(() => socket.resetAndDestroy(), cut())
    })
  }).listen(0, machineAddress())
  await once(target, "listening")
  const { port, address } = target.address() as AddressInfo
  const pod = `/api/v1/namespaces/${NAMESPACE}/pods/${POD}`
  const status = { podIP: address, podIPs: [{ ip: address }] }
  const { status: code } = await identities.administrator.request("PATCH", `${pod}/status`, {
    headers: { "content-type": "application/merge-patch+json" },
    body: { status },
  })
  expect(code).toBe(200)
  path = `${pod}:${port}/proxy/x`
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  target.close()
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const LIMIT_MS = 3000
/** The status and body that come over HTTP/2, or that the answer broke off. */
const overHttp2 = (): Promise<string> =>
  new Promise((resolve) => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
    let text = ""
    const done = () => {
      clearTimeout(timer)
      session.destroy()
      resolve(text)
    }
    const timer = setTimeout(() => ((text += "NO END"), done()), LIMIT_MS)
    session.on("error", done)
    const stream = session.request({ ":path": path, authorization: `Bearer ${server.token}` })
    stream.on("response", (head) => (text += `${JSON.stringify(head)} `))
    stream.on("data", (part: Buffer) => (text += part.toString()))
    stream.on("error", done)
    stream.on("close", done)
    stream.end()
  })

const overHttp1 = async (upgrade: string): Promise<string> => {
  const socket = await dial(server)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\n${upgrade}\r\n`)
  const timer = setTimeout(() => socket.destroy(), LIMIT_MS)
  const text = await received(socket)
  clearTimeout(timer)
  return text
}

describe.each(Object.keys(ANSWERS))("a target that responds with %s", (name) => {
  test.each([
    { how: "HTTP/1.1", ask: () => overHttp1("Connection: close\r\n") },
    { how: "HTTP/2", ask: overHttp2 },
    { how: "an upgrade", ask: () => overHttp1("Connection: Upgrade\r\nUpgrade: websocket\r\n") },
  ])("affects no other client over $how", async ({ ask }) => {
    answer = ANSWERS[name]!
    const text = await ask()
    expect(text).not.toContain("NO END")
    expect(text).not.toContain("forged")
    expect(text.toLowerCase()).not.toContain("access-control-allow-origin")
    expect(server.alive).toBe(true)
    expect((await identities.administrator.request("GET", "/readyz")).status).toBe(200)
  })
})

describe.each([
  { what: "a header with bytes above ASCII", line: "", header: "X-A: \xe4\xff" },
  { what: "a header with control characters", line: "", header: "X-A: a\x01\x7fb" },
  { what: "a header named with bytes above ASCII", line: "", header: "X-\xe4: a" },
  { what: "a path with bytes above ASCII", line: "/\xe4\xff", header: "X-A: a" },
  { what: "a path with characters that need escaping", line: '/<>"{}|\\^`', header: "X-A: a" },
  { what: "a query with bytes above ASCII", line: "?a=\xe4\xff", header: "X-A: a" },
  { what: "a path above the root", line: "/../../../../../../etc", header: "X-A: a" },
  { what: "an upgrade without a protocol", line: "", header: "Connection: Upgrade\r\nUpgrade:" },
  { what: "an upgrade to bytes above ASCII", line: "", header: "Connection: Upgrade\r\nUpgrade: \xe4" },
  {
    what: "a Connection header that names other headers",
    line: "",
    header: "Connection: close, host, x-forwarded-for",
  },
  { what: "an expectation", line: "", header: "Expect: 100-continue" },
  { what: "an unknown expectation", line: "", header: "Expect: the-impossible" },
])("a request through a proxy with $what", ({ line, header }) => {
  test.each(["GET", "DELETE"])("is forwarded or refused: %s", async (method) => {
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    const socket = await dial(server)
    const head =
      `${method} ${path}${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\n${header}\r\n` +
      "Connection: close\r\n\r\n"
    socket.write(Buffer.from(head, "latin1"))
    const timer = setTimeout(() => socket.destroy(), LIMIT_MS)
    const text = await received(socket)
    clearTimeout(timer)
    expect(text).toMatch(/^HTTP\/1.1 (100|200|400|417|500 .*invalid upgrade)/s)
    expect(server.alive).toBe(true)
  })
})

test("connections that either side cuts at any moment affect no other client", async () => {
  // given a target that says a part of an answer and is gone
  const whole = [
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n" + "<a href='/x'>".repeat(5000),
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + "x".repeat(5000),
  ]
  const random = seededRandom(1)
  const below = (limit: number) => Math.floor(random.next() * limit)
  cut = () => below(3)

  // when clients ask, and are gone as soon
  const once = async (i: number) => {
    answer = whole[i % 2]!.slice(0, below(i % 3 === 0 ? 200 : 70_000))
    const socket = await dial(server)
    const upgrade = i % 2 === 1 ? "Connection: Upgrade\r\nUpgrade: websocket\r\n" : "Content-Length: 50000\r\n"
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\n${upgrade}\r\n` +
        `${"y".repeat(below(60_000))}`,
    )
    const gone = received(socket)
    await Bun.sleep(below(6))
    if (i % 5 === 0) await Promise.race([gone, Bun.sleep(200)])
    socket.destroy()
  }
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, (_, i) => once(round * 20 + i)))
  cut = undefined

  // then
  expect(server.alive).toBe(true)
  expect((await identities.administrator.request("GET", "/readyz")).status).toBe(200)
})

test("no failure of the server is logged for all these responses", () => {
  expect(server.output()).not.toContain("Contained a failure")
})
