import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect as connectHttp2 } from "node:http2"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, NODE } from "./identities.ts"
import { dial, received, startTarget, type Target } from "./target.ts"

let server: TestServer
let identities: Identities
let target: Target
/** The token of a ServiceAccount that may do everything, as headers and subprotocols would carry it. */
let token: string

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  target = await startTarget(identities)
  token = server.token
})
afterAll(async () => {
  await target[Symbol.asyncDispose]()
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const PROXIES = ["pods", "services", "nodes"] as const
const protocolOf = (text: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString("base64url")}`
const UPGRADE = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
]
const request = (path: string, lines: readonly string[], method = "GET") =>
  `${method} ${path} HTTP/1.1\r\nHost: cluster.test\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`

describe.each(PROXIES)("through the proxy of %s", (proxy) => {
  /** Each way to show who one is, all of them at once with others, and headers that look like one. */
  const WAYS = [
    { way: "an Authorization header", lines: () => [`Authorization: Bearer ${token}`] },
    { way: "an Authorization header in capital letters", lines: () => [`AUTHORIZATION: bearer ${token}`] },
    {
      way: "a token and impersonation",
      lines: () => [`Authorization: Bearer ${token}`, "Impersonate-User: boss", "Impersonate-Group: system:masters"],
    },
    {
      way: "a token and the headers of a front proxy",
      lines: () => [
        `Authorization: Bearer ${token}`,
        "X-Remote-User: boss",
        "X-Remote-Group: system:masters",
        "X-Remote-Extra-Scopes: all",
      ],
    },
  ]
  const UPGRADES = [
    { way: "a subprotocol", lines: () => [`Sec-WebSocket-Protocol: a, ${protocolOf(token)}, b`] },
    {
      way: "a subprotocol in a header of its own",
      lines: () => ["Sec-WebSocket-Protocol: a, b", `Sec-WebSocket-Protocol: ${protocolOf(token)}`],
    },
    {
      way: "a header, and another token as subprotocol",
      lines: () => [`Authorization: Bearer ${token}`, `Sec-WebSocket-Protocol: a, ${protocolOf("t0p-s3cret")}, b`],
    },
  ]
  const secrets = () => [token, protocolOf(token), protocolOf("t0p-s3cret"), "boss", "system:masters", "Bearer "]

  test.each([
    ...WAYS.flatMap((way) => [
      { ...way, upgrade: false },
      { ...way, upgrade: true },
    ]),
    ...UPGRADES.map((way) => ({ ...way, upgrade: true })),
  ])("a target gets no credentials of the client: $way (upgrade: $upgrade)", async ({ lines, upgrade }) => {
    // given
    const before = target.seen.length
    const socket = await dial(server)

    // when
    const path = `${target.paths[proxy]}/who?x=1`
    socket.write(request(path, [...lines(), "Cookie: of=the-target", ...(upgrade ? UPGRADE : ["Connection: close"])]))
    const answer = await received(socket, upgrade ? "welcome" : undefined)
    socket.destroy()

    // then
    expect(answer).toStartWith(upgrade ? "HTTP/1.1 101" : "HTTP/1.1 200")
    const [seen, ...more] = target.seen.slice(before)
    expect(more).toEqual([])
    expect(seen!.url).toBe("/who?x=1")
    expect(seen!.head).toContain("of=the-target")
    for (const secret of secrets()) expect(seen!.head.toLowerCase()).not.toContain(secret.toLowerCase())
    expect(seen!.head.toLowerCase()).not.toMatch(/authorization|impersonate|x-remote/)
    if (upgrade && lines().some((line) => line.startsWith("Sec-WebSocket-Protocol")))
      expect(seen!.head.toLowerCase()).toContain("sec-websocket-protocol\na, b")
  })

  test.each(["http/1.1", "h2"] as const)(
    "a token as a WebSocket subprotocol is ignored in an ordinary request (%s)",
    async (protocol) => {
      const headers = { "sec-websocket-protocol": `a, ${protocolOf(token)}` }
      const status =
        protocol === "h2"
          ? await statusOverHttp2(`${target.paths[proxy]}/who`, headers)
          : (await identities.anonymous.request("GET", `${target.paths[proxy]}/who`, { headers })).status
      expect(status).toBe(401)
    },
  )

  test("a target that refuses to switch protocols gets no further request over the connection", async () => {
    // given
    const before = target.seen.length
    const socket = await dial(server)

    // when a client sends a second request, which nobody would authorize, after an upgrade that is refused
    socket.write(request(`${target.paths[proxy]}/refuse`, [`Authorization: Bearer ${token}`, ...UPGRADE]))
    socket.write(request("/smuggled", [], "POST"))
    const answer = await received(socket)

    // then
    expect(answer).toStartWith("HTTP/1.1 500")
    expect(answer).toContain("invalid upgrade response: status code 200")
    expect(target.seen.slice(before).map(({ url }) => url)).toEqual(["/refuse"])
  })

  test("a target's refusal to switch protocols is forwarded, and then the connection is closed", async () => {
    const before = target.seen.length
    const socket = await dial(server)
    socket.write(request(`${target.paths[proxy]}/deny`, [`Authorization: Bearer ${token}`, ...UPGRADE]))
    socket.write(request("/smuggled", [], "POST"))
    const answer = await received(socket)
    expect(answer).toStartWith("HTTP/1.1 418")
    expect(answer).toEndWith("nope")
    expect(target.seen.slice(before).map(({ url }) => url)).toEqual(["/deny"])
  })

  test("a target sees the end of the body of every request, whatever its method", async () => {
    // given a body in chunks, which Node's clients send without saying so where the method has none as a rule
    const before = target.seen.length
    const socket = await dial(server)
    const smuggled = request("/smuggled", [])
    socket.write(
      request(
        `${target.paths[proxy]}/body`,
        [`Authorization: Bearer ${token}`, "Transfer-Encoding: chunked", "Connection: close"],
        "DELETE",
      ),
    )

    // when
    socket.write(`${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`)

    // then
    expect(await received(socket)).toStartWith("HTTP/1.1 200")
    expect(target.seen.slice(before).map(({ url }) => url)).toEqual(["/body"])
  })
})

describe("an address that belongs to no other machine", () => {
  const inside = `/api/v1/namespaces/${NAMESPACE}`
  const send = async (method: string, path: string, body: object) => {
    const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {}
    return identities.administrator.request(method, path, { headers, body })
  }
  const said = async (path: string) => {
    const { status, body } = await identities.administrator.request("GET", path)
    return { status, text: body.toString() }
  }
  const ADDRESSES = [
    ...["127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255"],
    ...["::1", "::", "fe80::1", "ff02::1"],
  ]

  beforeAll(async () => {
    const spec = { containers: [{ name: "c", image: "registry.test/c" }] }
    expect((await send("POST", `${inside}/pods`, { metadata: { name: "turned" }, spec })).status).toBe(201)
    expect((await send("POST", "/api/v1/nodes", { metadata: { name: "turned" } })).status).toBe(201)
    const service = { metadata: { name: "turned" }, spec: { ports: [{ port: 80 }] } }
    expect((await send("POST", `${inside}/services`, service)).status).toBe(201)
  })

  test.each(ADDRESSES)("is reached through no pod: %s", async (ip) => {
    const status = { podIP: ip, podIPs: [{ ip }] }
    expect((await send("PATCH", `${inside}/pods/turned/status`, { status })).status).toBe(200)
    for (const port of [server.port, 99999, 0]) {
      const { status, text } = await said(`${inside}/pods/turned:${port}/proxy/`)
      expect(status).toBe(400)
      expect(text).toContain("address not allowed")
    }
  })

  test.each([...ADDRESSES, "::ffff:127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433"])(
    "is reached through no node: %s",
    async (address) => {
      const status = { addresses: [{ type: "InternalIP", address }] }
      expect((await send("PATCH", "/api/v1/nodes/turned/status", { status })).status).toBe(200)
      const answer = await said(`/api/v1/nodes/https:turned:${server.port}/proxy/healthz`)
      expect(answer.status).toBe(400)
      expect(answer.text).toMatch(/address not allowed|no such host/)
    },
  )

  test("is reached through no service, nor is an address that belongs to no pod", async () => {
    const targetRef = { kind: "Pod", namespace: NAMESPACE, name: "turned" }
    const subsets = (address: object) => ({ subsets: [{ addresses: [address], ports: [{ port: server.port }] }] })
    // Most of them Endpoints cannot even hold.
    for (const address of [...ADDRESSES.map((ip) => ({ ip, targetRef })), { ip: "10.99.0.1" }]) {
      const made = await send("POST", `${inside}/endpoints`, { metadata: { name: "turned" }, ...subsets(address) })
      expect([201, 422]).toContain(made.status)
      expect(await said(`${inside}/services/turned:80/proxy/`)).toMatchObject({ status: 503 })
      await identities.administrator.request("DELETE", `${inside}/endpoints/turned`)
    }
  })

  test("invalid ports get the error message of Go's dialer", async () => {
    const of = (port: number) => target.paths.nodes.replace(`${NODE}:${target.port}`, `${NODE}:${port}`)
    expect((await said(`${of(99999)}/`)).text).toContain("dial tcp: address 99999: invalid port")
    expect((await said(`${of(0)}/`)).text).toContain(":0: connect: connection refused")
  })
})

describe("proxied data flows at the speed of its reader", () => {
  const BYTES = 200_000_000
  /** Returns the largest growth of the server's memory while `body` runs. */
  const growth = async (during: () => Promise<void>): Promise<number> => {
    const before = server.residentMb()
    let most = before
    const timer = setInterval(() => (most = Math.max(most, server.residentMb())), 20)
    await during()
    clearInterval(timer)
    return most - before
  }
  /** Long enough to send everything to a client that reads. */
  const LONG_MS = 1200

  test.each([
    { path: "/html", protocol: "http/1.1" },
    { path: "/plain", protocol: "http/1.1" },
    { path: "/html", protocol: "h2" },
    { path: "/plain", protocol: "h2" },
  ])("a response: 200 MB of $path over $protocol to a client that does not read", async ({ path, protocol }) => {
    const url = `${target.paths.pods}${path}?bytes=${BYTES}`
    const more = await growth(async () => {
      if (protocol === "h2") {
        const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
        const stream = session.request({ ":path": url, authorization: `Bearer ${token}` })
        stream.on("error", () => undefined)
        stream.pause()
        await Bun.sleep(LONG_MS)
        session.destroy()
      } else {
        const socket = await dial(server)
        socket.pause()
        socket.write(request(url, [`Authorization: Bearer ${token}`]))
        await Bun.sleep(LONG_MS)
        socket.destroy()
      }
    })
    expect(more).toBeLessThan(64)
  })

  test("a response: 200 MB of page to a client that reads it", async () => {
    let got = 0
    const more = await growth(async () => {
      const { body } = await fetch(`https://127.0.0.1:${server.port}${target.paths.pods}/html?bytes=${BYTES}`, {
        headers: { authorization: `Bearer ${token}` },
        tls: { rejectUnauthorized: false },
      })
      for await (const part of body as unknown as AsyncIterable<Uint8Array>) got += part.length
    })
    expect(got).toBe(BYTES)
    expect(more).toBeLessThan(100)
  })

  test.each(["http/1.1", "h2"])("a body: 200 MB over %s to a target that does not read", async (protocol) => {
    const url = `${target.paths.pods}/sink`
    const part = Buffer.alloc(1_000_000, "x")
    let sent = 0
    const more = await growth(async () => {
      if (protocol === "h2") {
        const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
        const stream = session.request({ ":method": "POST", ":path": url, authorization: `Bearer ${token}` })
        stream.on("error", () => undefined)
        pump(stream)
        await Bun.sleep(LONG_MS)
        session.destroy()
      } else {
        const socket = await dial(server)
        socket.write(request(url, [`Authorization: Bearer ${token}`, `Content-Length: ${BYTES}`], "POST"))
        pump(socket)
        await Bun.sleep(LONG_MS)
        socket.destroy()
      }
    })
    expect(more).toBeLessThan(64)

    function pump(stream: NodeJS.WritableStream): void {
      const next = () => {
        while (sent < BYTES) {
          sent += part.length
          if (!stream.write(part)) return void stream.once("drain", next)
        }
      }
      next()
    }
  })
})

function statusOverHttp2(path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
    const stream = session.request({ ":path": path, ...headers })
    stream.on("response", (answer) => {
      resolve(Number(answer[":status"]))
      session.destroy()
    })
    stream.on("error", reject)
    stream.end()
  })
}
