import { afterEach, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { connect, type TLSSocket } from "node:tls"
import { DirectBody } from "./direct-body.ts"
import { answer, type Listener, type ListenOptions } from "./listen.ts"
import { listening } from "./listening.fixtures.ts"
import type { ServerAnswer } from "./server-request.ts"

let listener: Listener
const clients: TLSSocket[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await listener.stop()
})

async function open(onRequest: ListenOptions["onRequest"]): Promise<void> {
  listener = await listening({ onRequest })
}
async function connected(): Promise<TLSSocket> {
  const client = connect({ host: "127.0.0.1", port: listener.port, rejectUnauthorized: false })
  clients.push(client)
  await once(client, "secureConnect")
  return client
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
/** Resolves with all that has come when it ends so. */
async function received(client: TLSSocket, end: string): Promise<string> {
  const chunks: Buffer[] = []
  for (;;) {
    const [chunk] = (await once(client, "data")) as [Buffer]
    chunks.push(chunk)
    if (Buffer.concat(chunks.slice(-2)).toString().endsWith(end)) return Buffer.concat(chunks).toString()
  }
}
/** Sends a body of so many pieces, each of one letter. */
async function sendPieces(res: ServerAnswer, letter: string, count: number, bytes: number): Promise<void> {
  const body = DirectBody.begin(res, 200, { "Content-Type": "text/plain" }, count * bytes)!
  for (let i = 0; i < count; i++) {
    const before = i === 0 ? body.head : Buffer.alloc(0)
    const piece = body.room(before.length + bytes)
    piece.set(before)
    piece.fill(letter, before.length)
    await body.write(piece)
    if (res.destroyed) return
  }
  body.end()
}
const PIECE = 200_000

test("bodies for several clients at once, who read slowly, arrive whole, and the next response after them", async () => {
  await open((req, res) => {
    if (req.url === "/last") return answer(res, 200, {}, "last")
    void sendPieces(res, req.url!.slice(1), 40, PIECE)
  })
  // given clients that do not read yet
  const letters = ["a", "b", "c"]
  const asked = await Promise.all(letters.map(() => connected()))
  for (const [i, client] of asked.entries()) {
    client.pause()
    client.write(get(`/${letters[i]}`) + get("/last"))
  }
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  // when they read
  const texts = asked.map((client) => received(client, "last"))
  for (const client of asked) client.resume()
  // then each has its own body
  for (const [i, text] of (await Promise.all(texts)).entries()) {
    const [, body, last] = text.split(/HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n/)
    expect(body === letters[i]!.repeat(40 * PIECE)).toBe(true)
    expect(last).toBe("last")
    expect(text).toContain(`content-length: ${40 * PIECE}\r\n`)
  }
})

test("a piece that is larger than the memory kept for pieces arrives whole", async () => {
  await open((req, res) => (req.url === "/last" ? answer(res, 200, {}, "last") : sendPieces(res, "a", 1, 1_000_000)))
  const client = await connected()
  client.write(get("/") + get("/last"))
  expect(await received(client, "last")).toContain(`\r\n\r\n${"a".repeat(1_000_000)}HTTP/1.1 200 OK`)
})

test("other clients are answered while one reads a large body as fast as it comes", async () => {
  let isSent = false
  const inBetween = Promise.withResolvers<boolean>()
  await open((req, res) => {
    if (req.url === "/short") {
      answer(res, 200, {}, "short")
      return inBetween.resolve(!isSent)
    }
    void sendPieces(res, "a", 500, PIECE).then(() => (isSent = true))
  })
  const [fast, other] = await Promise.all([connected(), connected()])
  fast.resume()
  fast.write(get("/long"))
  other.write(get("/short"))
  expect(await inBetween.promise).toBe(true)
})

test("a client that goes away in the middle of a body ends the sending", async () => {
  const ended = Promise.withResolvers<string>()
  await open((_req, res) => {
    sendPieces(res, "a", 1000, PIECE).then(
      () => ended.resolve(res.destroyed ? "closed" : "sent"),
      (err: Error) => ended.resolve(err.message),
    )
  })
  const client = await connected()
  client.write(get("/"))
  await once(client, "data")
  client.destroy()
  expect(await ended.promise).toBe("closed")
})

test("a response that has begun counts as sent, and one over HTTP/2 does not begin", async () => {
  const seen: unknown[] = []
  await open((req, res) => {
    const body = DirectBody.begin(res, 200, {}, 1)
    seen.push(req.httpVersion, body === undefined, res.headersSent)
    if (body === undefined) return answer(res, 200, {}, "b")
    void body.write(Buffer.concat([body.head, Buffer.from("b")]))
    body.end()
  })
  const client = await connected()
  client.write(get("/"))
  await received(client, "b")
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { rejectUnauthorized: false })
  await once(session.request({ ":path": "/" }).resume(), "end")
  session.destroy()
  expect(seen).toEqual(["1.1", false, true, "2.0", true, false])
})
