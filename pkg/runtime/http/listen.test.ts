import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { request as httpsRequest } from "node:https"
import { connect as connectTcp } from "node:net"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { type ClusterPki, openClusterPki } from "../../pki/cluster-pki.ts"
import { answer, type Listener, listenTls, type ListenOptions, peerCertificate, remoteAddress } from "./listen.ts"

const now = () => Date.now()
const pki = openClusterPki({ now })
const stranger = openClusterPki({ now })
const serving = (from: ClusterPki, dns = "localhost") =>
  from.issue({
    name: "s",
    authority: "server-ca",
    subject: { commonName: dns, organizations: [] },
    dnsNames: [dns],
    ipAddresses: ["127.0.0.1"],
  })
const client = (from: ClusterPki) =>
  from.issue({ name: "c", authority: "client-ca", subject: { commonName: "jane", organizations: ["dev", "ops"] } })
const ca = pki.authorities["server-ca"].certPem

let listener: Listener
const open = async (over: Partial<ListenOptions> = {}) => {
  const { certPem, keyPem } = serving(pki)
  listener = await listenTls({
    host: "127.0.0.1",
    port: 0,
    cert: certPem,
    key: keyPem,
    clientCa: pki.authorities["client-ca"].certPem,
    onRequest: (req, res) =>
      answer(
        res,
        200,
        { "content-type": "application/json" },
        JSON.stringify({
          version: req.httpVersion,
          peer: peerCertificate(req) ?? null,
          from: remoteAddress(req),
          url: req.url,
        }),
      ),
    ...over,
  })
  return listener
}
afterEach(() => listener?.stop())

interface Seen {
  version: string
  peer: { commonName: string; organizations: string[] } | null
  from: string
  url: string
}
type Credentials = { cert?: string; key?: string }
const credentials = (pair?: { certPem: string; keyPem: string }): Credentials =>
  pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }

const overHttp1 = (tls: Credentials, path = "/x") =>
  new Promise<Seen>((resolve, reject) => {
    const req = httpsRequest(
      { host: "127.0.0.1", port: listener.port, path, ca, agent: false, ...tls },
      async (res) => {
        let text = ""
        for await (const chunk of res) text += String(chunk)
        resolve(JSON.parse(text) as Seen)
      },
    )
    req.on("error", reject).end()
  })

const overHttp2 = async (tls: Credentials, path = "/x") => {
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca, ...tls })
  const stream = session.request({ ":path": path })
  let text = ""
  for await (const chunk of stream) text += String(chunk)
  session.close()
  return JSON.parse(text) as Seen
}

describe.each([
  ["HTTP/1.1", overHttp1, "1.1"],
  ["HTTP/2", overHttp2, "2.0"],
] as const)("over %s", (_, get, version) => {
  test("a client without a certificate gets a response, without an identity", async () => {
    await open()
    expect(await get({}, "/api?watch=1")).toEqual({ version, peer: null, from: "127.0.0.1", url: "/api?watch=1" })
  })

  test.each([20_000, 50_000])("a path of %d characters is read whole", async (length) => {
    await open()
    const path = `/exec?command=${"a".repeat(length)}`
    expect((await get({}, path)).url).toBe(path)
  })

  test("a verified certificate identifies the client", async () => {
    await open()
    const { peer } = await get(credentials(client(pki)))
    expect(peer?.commonName).toBe("jane")
    expect(peer?.organizations.toSorted()).toEqual(["dev", "ops"])
  })

  test("a certificate of another authority, or for servers, is ignored", async () => {
    await open()
    expect((await get(credentials(client(stranger)))).peer).toBeNull()
    expect((await get(credentials(serving(pki)))).peer).toBeNull()
  })

  test("an expired certificate is ignored", async () => {
    await open()
    const old = openClusterPki({ now: () => Date.now() - 3000 * 24 * 3600_000 })
    await listener.stop()
    await open({ clientCa: old.authorities["client-ca"].certPem })
    expect((await get(credentials(client(old)))).peer).toBeNull()
  })
})

test.each([
  { what: "a first line", head: `GET /${"a".repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n` },
  { what: "a header that goes on", head: `GET / HTTP/1.1\r\nHost: ${"a".repeat(2_000_000)}` },
])("$what of more than 64 KiB ends the connection", async ({ head }) => {
  await open()
  const socket = connectTls({ host: "127.0.0.1", port: listener.port, ca }, () => socket.write(head))
  let text = ""
  socket.on("data", (chunk) => void (text += String(chunk)))
  // The server may close the connection before it has read all.
  socket.on("error", () => undefined)
  await once(socket, "close")
  expect(text).not.toContain("200 OK")
})

test("a resumed TLS session has its own certificate and no other", async () => {
  await open()
  const ask = (tls: Credentials & { session?: Buffer }) =>
    new Promise<{ peer: string; session: Buffer | undefined }>((resolve, reject) => {
      let session: Buffer | undefined
      let text = ""
      const socket: TLSSocket = connectTls({ host: "127.0.0.1", port: listener.port, ca, ...tls }, () =>
        socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
      )
      socket.on("session", (ticket) => void (session = ticket))
      socket.on("data", (chunk) => void (text += String(chunk)))
      socket.on("close", () => resolve({ peer: /"commonName":"(\w+)"/.exec(text)?.[1] ?? "nobody", session }))
      socket.on("error", reject)
    })
  const first = await ask(credentials(client(pki)))
  expect(first.peer).toBe("jane")
  expect((await ask({ ...credentials(client(pki)), ...(first.session && { session: first.session }) })).peer).toBe(
    "jane",
  )
  expect((await ask({})).peer).toBe("nobody")
})

test("new certificates are used for new connections while old connections continue", async () => {
  await open()
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca })
  await once(session, "connect")
  const next = serving(pki, "renewed.example")
  listener.setCertificates({
    cert: next.certPem,
    key: next.keyPem,
    clientCa: stranger.authorities["client-ca"].certPem,
  })
  const socket = connectTls({ host: "127.0.0.1", port: listener.port, ca })
  await once(socket, "secureConnect")
  expect(socket.getPeerCertificate().subject.CN).toBe("renewed.example")
  socket.destroy()
  expect((await overHttp1(credentials(client(stranger)))).peer?.commonName).toBe("jane")
  const stream = session.request({ ":path": "/still" })
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>]
  expect(headers[":status"]).toBe(200)
  session.destroy()
})

test("an upgrade passes on the socket with the data that the client sent early", async () => {
  const heads: string[] = []
  await open({
    onUpgrade(req, socket, head) {
      heads.push(`${req.headers.upgrade} ${peerCertificate(req)?.commonName}`)
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
      socket.write(head)
      socket.pipe(socket)
    },
  })
  const socket = connectTls({ host: "127.0.0.1", port: listener.port, ca, ...credentials(client(pki)) })
  socket.write("GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ")
  let text = ""
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.endsWith("early ")) socket.write("late")
    if (text.endsWith("late")) break
  }
  expect(heads).toEqual(["echo jane"])
  expect(text).toEndWith("\r\n\r\nearly late")
})

test("invalid data in place of TLS or HTTP close only their own connection", async () => {
  await open()
  const plain = connectTcp(listener.port, "127.0.0.1")
  plain.on("error", () => {})
  plain.write("GET / HTTP/1.1\r\n\r\n")
  await once(plain, "close")
  const socket = connectTls({ host: "127.0.0.1", port: listener.port, ca })
  socket.write("\0\0nonsense\r\n\r\n")
  socket.on("error", () => {})
  socket.resume()
  await once(socket, "close")
  expect((await overHttp2({})).version).toBe("2.0")
})

test("the response reports when its client disconnects", async () => {
  const gone = Promise.withResolvers<void>()
  await open({
    onRequest(_req, res) {
      res.on("close", () => gone.resolve())
      res.writeHead(200)
      res.write("first event\n")
    },
  })
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca })
  const stream = session.request({ ":path": "/watch" })
  await once(stream, "data")
  stream.close(8)
  await gone.promise
  session.destroy()
})

describe("stop", () => {
  test("closes idle connections at once", async () => {
    await open()
    // given a connection of each protocol that never asked anything, and one that did and is kept alive
    const idle = connectTls({ host: "127.0.0.1", port: listener.port, ca })
    const kept = connectTls({ host: "127.0.0.1", port: listener.port, ca })
    const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca })
    idle.resume()
    kept.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await Promise.all([once(idle, "secureConnect"), once(session, "connect"), once(kept, "data")])
    // then all end without waiting for the grace
    await Promise.all([
      listener.stop({ graceMs: 60_000 }),
      once(idle, "close"),
      once(kept, "close"),
      once(session, "close"),
    ])
    await expect(overHttp1({})).rejects.toThrow()
  })

  test.each(["1.1", "2.0"])("waits for a request over HTTP/%s", async (version) => {
    const arrived = Promise.withResolvers<() => void>()
    await open({ onRequest: (_req, res) => arrived.resolve(() => answer(res, 200, {}, JSON.stringify({ version }))) })
    const asked = version === "1.1" ? overHttp1({}) : overHttp2({})
    const finish = await arrived.promise
    const stopped = listener.stop({ graceMs: 60_000 })
    finish()
    expect((await asked).version).toBe(version)
    await stopped
  })

  test("answers requests on connections that are kept alive, and announces that they close", async () => {
    await open()
    // given two connections that are kept alive
    const ask = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    const kept = [1, 2].map(() => connectTls({ host: "127.0.0.1", port: listener.port, ca }))
    const asked = async (socket: TLSSocket) => {
      socket.write(ask)
      return String((await once(socket, "data"))[0])
    }
    for (const socket of kept) expect(await asked(socket)).not.toContain("Connection: close")
    // when its end is announced
    listener.announceEnd()
    // then connections go on until they are used
    const closed = kept.map((socket) => once(socket, "close"))
    expect(await asked(kept[0]!)).toContain("Connection: close")
    await closed[0]
    // and one that is idle lingers when no more are taken
    const stopped = listener.stop({ graceMs: 60_000, lingerMs: 60_000 })
    await expect(overHttp1({})).rejects.toThrow()
    expect(await asked(kept[1]!)).toContain("Connection: close")
    await Promise.all([closed[1], stopped])
  })

  test("closes connections that last longer than the grace period", async () => {
    const arrived = Promise.withResolvers<void>()
    await open({ onRequest: () => arrived.resolve() })
    const asked = overHttp1({}).catch((err: Error) => err)
    await arrived.promise
    await listener.stop({ graceMs: 1 })
    expect(await asked).toBeInstanceOf(Error)
  })
})

describe("a port in use", () => {
  let first: Listener
  beforeAll(async () => void (first = await open()))
  afterAll(() => first.stop())
  test("is reported in the error", async () => {
    const { certPem, keyPem } = serving(pki)
    const again = listenTls({
      host: "127.0.0.1",
      port: first.port,
      cert: certPem,
      key: keyPem,
      clientCa: ca,
      onRequest() {},
    })
    await expect(again).rejects.toThrow(`Cannot listen on 127.0.0.1:${first.port}: the address is in use`)
  })
})
