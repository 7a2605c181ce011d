import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { connect as connectTcp, Socket } from "node:net"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { type ConnectionLimits, Connections } from "./connections.ts"
import { answer, type Listener, type ListenOptions, ownConnection } from "./listen.ts"
import { listening } from "./listening.fixtures.ts"

const PATIENT: ConnectionLimits = { headMs: 60_000, idleMs: 60_000, unreadMs: 60_000, lingerMs: 60_000, most: 1000 }

let listener: Listener | undefined
const clients: Socket[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await listener?.stop()
})

const ok: ListenOptions["onRequest"] = (_req, res) => answer(res, 200, {}, "ok")
async function open(limits: Partial<ConnectionLimits>, onRequest = ok): Promise<void> {
  listener = await listening({ onRequest, limits: { ...PATIENT, ...limits } })
}

function kept<S extends Socket>(socket: S): S {
  socket.on("error", () => undefined)
  clients.push(socket)
  return socket
}
async function tcp(): Promise<Socket> {
  const socket = kept(connectTcp(listener!.port, "127.0.0.1"))
  await once(socket, "connect")
  return socket
}
const sent = (socket: Socket, bytes: Uint8Array): Socket => (socket.write(bytes), socket)
/** A TLS connection whose client has sent `bytes` and reads what comes. */
async function tls(bytes: string | Uint8Array = "", protocol = "http/1.1"): Promise<Socket> {
  const socket = kept(
    connectTls({ host: "127.0.0.1", port: listener!.port, rejectUnauthorized: false, ALPNProtocols: [protocol] }),
  )
  await once(socket, "secureConnect")
  socket.write(bytes)
  return socket
}
const closed = (socket: Socket): Promise<unknown> => {
  socket.resume()
  // Not by `once`, which a reset would make reject.
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once("close", resolve))
}
/** The status lines of the next answers. */
async function statuses(socket: Socket, count: number): Promise<readonly string[]> {
  let text = ""
  for await (const [bytes] of on(socket)) {
    text += bytes.toString()
    const found = text.match(/HTTP\/1\.1 \d+/g) ?? []
    if (found.length >= count) return found
  }
  return []
}
async function* on(socket: Socket): AsyncIterable<[Buffer]> {
  for (;;) yield (await once(socket, "data")) as [Buffer]
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
/** The beginning of the headers of stream 1, with neither END_HEADERS nor END_STREAM. */
const HEADERS = Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82])

describe("a client that is disconnected after the timeout for a head", () => {
  test.each<readonly [string, () => Promise<Socket>]>([
    ["sends nothing at all", tcp],
    ["sends the beginning of a TLS hello", async () => sent(await tcp(), Buffer.from([22, 3, 1, 2, 0, 1, 0]))],
    ["sends nothing after the handshake", () => tls()],
    ["sends part of a request line", () => tls("GET /api")],
    ["sends part of a head", () => tls("GET / HTTP/1.1\r\nHost: x\r\nX-Never-Ends: ")],
    ["says nothing over HTTP/2", () => tls("", "h2")],
    ["sends the preface of HTTP/2 alone", () => tls(PREFACE, "h2")],
    ["sends the settings of HTTP/2 alone", () => tls(Buffer.concat([PREFACE, SETTINGS]), "h2")],
    ["sends part of the headers of HTTP/2", () => tls(Buffer.concat([PREFACE, SETTINGS, HEADERS]), "h2")],
  ])("%s", async (_, client) => {
    await open({ headMs: 100, lingerMs: 20 })
    await closed(await client())
  })

  test("sends its head byte by byte", async () => {
    await open({ headMs: 150, lingerMs: 20 })
    const socket = await tls("GET / HTTP/1.1\r\nX-Slow: ")
    const drip = setInterval(() => socket.write("x"), 10)
    await closed(socket)
    clearInterval(drip)
  })
})

describe("a connection between two requests", () => {
  test("is closed after the idle timeout", async () => {
    await open({ idleMs: 100, lingerMs: 20 }, (req, res) => {
      ownConnection(req, "jane", false)
      ok(req, res)
    })
    const socket = await tls(GET)
    expect(await statuses(socket, 1)).toEqual(["HTTP/1.1 200"])
    await closed(socket)
  })

  test("is closed if the head of the next request does not end", async () => {
    await open({ idleMs: 100, headMs: 100, lingerMs: 20 })
    const socket = await tls(GET)
    await statuses(socket, 1)
    socket.write("GET / HTTP/1.1\r\nHost:")
    await closed(socket)
  })

  test("of HTTP/2 gets GOAWAY, and is closed then", async () => {
    await open({ headMs: 100, lingerMs: 500 })
    const session = connectHttp2(`https://127.0.0.1:${listener!.port}`, { rejectUnauthorized: false })
    const [code] = (await once(session, "goaway")) as [number]
    expect(code).toBe(0)
    if (!session.closed) await once(session, "close")
  })

  test("stays open while a request is being served", async () => {
    // given a request whose answer takes longer than everything else may
    const { promise: come, resolve: arrived } = Promise.withResolvers<() => void>()
    await open({ headMs: 50, idleMs: 50, lingerMs: 10 }, (req, res) => arrived(() => ok(req, res)))
    const socket = await tls(GET)
    const finish = await come
    // when other connections have come to their end meanwhile
    await closed(await tls())
    await closed(await tls())
    // then
    finish()
    expect(await statuses(socket, 1)).toEqual(["HTTP/1.1 200"])
  })
})

describe("a response before the end of the request's body", () => {
  test("keeps the connection open if the rest is small", async () => {
    await open({})
    const socket = await tls("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12")
    expect(await statuses(socket, 1)).toEqual(["HTTP/1.1 200"])
    socket.write(`345${GET}`)
    expect(await statuses(socket, 1)).toEqual(["HTTP/1.1 200"])
  })

  test.each(["Content-Length: 1000000000", "Transfer-Encoding: chunked"])(
    "closes the connection if the rest may be large: %s",
    async (header) => {
      await open({ lingerMs: 50 })
      const socket = await tls(`POST / HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`)
      expect(await statuses(socket, 1)).toEqual(["HTTP/1.1 200"])
      await closed(socket)
    },
  )
})

test("a client that continues to send has time to read a response that came before the end of its body", async () => {
  await open({ lingerMs: 300 }, (_req, res) => answer(res, 413, {}, "too large"))
  const socket = await tls("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
  expect(await statuses(socket, 1)).toEqual(["HTTP/1.1 413"])
  // when it takes notice of the answer only after a while, and the server has more than its buffers hold
  const from = performance.now()
  const sending = setInterval(() => socket.write(Buffer.alloc(1_000_000)), 5)
  await closed(socket)
  clearInterval(sending)
  // then the connection was open all that time
  expect(performance.now() - from).toBeGreaterThan(200)
})

test("a client that does not read its response is disconnected", async () => {
  // given an answer larger than all the buffers on its way
  await open({ headMs: 50, unreadMs: 100 }, (_req, res) => answer(res, 200, {}, Buffer.alloc(64 * 1024 * 1024)))
  const socket = await tls(GET)
  socket.pause()
  // then
  const { promise: cut, resolve } = Promise.withResolvers<void>()
  const probe = setInterval(() => socket.write(" ", (err) => (err ? resolve() : undefined)), 10)
  socket.once("close", () => resolve())
  await cut
  clearInterval(probe)
})

describe("at the limit of connections", () => {
  const NOBODY = "/nobody"
  /** Answers everything but /wait, and takes who asks for the owner of the connection. */
  const owned: ListenOptions["onRequest"] = (req, res) => {
    if (req.url !== NOBODY) ownConnection(req, "jane", false)
    if (req.url !== "/wait") ok(req, res)
  }
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

  test("the connection that has been silent longest is closed for a new one, before those of authenticated clients", async () => {
    await open({ most: 8 }, owned)
    const known = await tls(get("/"))
    await statuses(known, 1)
    const silent: Socket[] = []
    for (let i = 0; i < 4; i++) silent.push(await tcp())
    // when others come
    const next = await tls(get(NOBODY))
    expect(await statuses(next, 1)).toEqual(["HTTP/1.1 200"])
    // then
    await closed(silent[0]!)
    known.write(get("/"))
    expect(await statuses(known, 1)).toEqual(["HTTP/1.1 200"])
  })

  test("the connection that has been idle longest is closed, and none with a running request", async () => {
    await open({ most: 4 }, owned)
    const waiting = await tls(get("/wait"))
    const first = await tls(get("/"))
    await statuses(first, 1)
    const second = await tls(get("/"))
    await statuses(second, 1)
    first.write(get("/"))
    await statuses(first, 1)
    // when two more come, one of which is owned
    const third = await tls(get("/wait"))
    const fourth = await tls(get(NOBODY))
    expect(await statuses(fourth, 1)).toEqual(["HTTP/1.1 200"])
    // then
    await closed(second)
    expect([waiting.closed, first.closed, third.closed]).toEqual([false, false, false])
  })

  test("idle connections of a greedy user are closed for those of another user", async () => {
    // given a user who has all the connections that one user can get, and does nothing with them
    await open({ most: 8 }, (req, res) => {
      const owner = String(req.headers["x-user"])
      const isOwned = ownConnection(req, owner, false)
      if (owner === "greedy") answer(res, isOwned ? 200 : 429, {}, "ok")
      else if (!isOwned) answer(res, 429, {}, "no")
      else {
        res.writeHead(200)
        res.write("begins")
      }
    })
    const ask = async (user: string) => statuses(await tls(`GET / HTTP/1.1\r\nHost: x\r\nX-User: ${user}\r\n\r\n`), 1)
    for (let i = 0; i < 6; i++) expect(await ask("greedy")).toEqual(["HTTP/1.1 200"])

    // then another user can have as many in use
    for (let i = 0; i < 4; i++) expect(await ask("other")).toEqual(["HTTP/1.1 200"])
  })

  test("no user gets all connections", async () => {
    // given a user who has all the connections that one user can get
    const refused: string[] = []
    await open({ most: 8 }, (req, res) => {
      const owner = String(req.headers["x-user"])
      if (!ownConnection(req, owner, owner === "admin")) refused.push(owner)
      answer(res, 200, {}, "ok")
    })
    const ask = async (user: string) => statuses(await tls(`GET / HTTP/1.1\r\nHost: x\r\nX-User: ${user}\r\n\r\n`), 1)
    for (let i = 0; i < 7; i++) await ask("greedy")
    // then others get some still
    expect(refused).toEqual(["greedy"])
    await ask("other")
    await ask("admin")
    expect(refused).toEqual(["greedy"])
  })
})

test("a connection that ends in its handshake is not counted any more", async () => {
  await open({ most: 4 })
  for (let i = 0; i < 50; i++) {
    const socket = await tcp()
    socket.write(Buffer.from([22, 3, 1]))
    socket.resetAndDestroy()
  }
  const others = [await tls(GET), await tls(GET)]
  for (const other of others) expect(await statuses(other, 1)).toEqual(["HTTP/1.1 200"])
  expect(others.map(({ closed }) => closed)).toEqual([false, false])
})

test("a connection whose client does not close it is reset after a timeout, although other connections come meanwhile", async () => {
  // given a connection that does not end when it is told to
  const connections = new Connections({ ...PATIENT, headMs: 50, lingerMs: 500 })
  const stubborn = new Socket() as TLSSocket
  stubborn.end = () => stubborn
  connections.of(stubborn).isSecure = true
  // when the other connections have themselves looked at again and again
  const others = setInterval(() => connections.of(new Socket() as TLSSocket), 10)
  // then
  await closed(stubborn)
  clearInterval(others)
  connections.cutAll()
})
