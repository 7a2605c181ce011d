import { afterEach, expect, test } from "bun:test"
import { once } from "node:events"
import { connect, type TLSSocket } from "node:tls"
import { answer, type Listener, type ListenOptions } from "./listen.ts"
import { listening } from "./listening.fixtures.ts"

let listener: Listener
let client: TLSSocket
afterEach(async () => {
  client.destroy()
  await listener.stop()
})

/** Connects to a listener that answers so. */
async function open(onRequest: ListenOptions["onRequest"]): Promise<void> {
  listener = await listening({ onRequest })
  client = connect({ host: "127.0.0.1", port: listener.port, rejectUnauthorized: false })
  await once(client, "secureConnect")
}
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
/** Resolves with all that has come when it ends so. Of each chunk only the last bytes are compared: there are thousands. */
function received(end: string): Promise<string> {
  const last = Buffer.from(end)
  const chunks: Buffer[] = []
  let tail: Buffer = Buffer.alloc(0)
  const { promise, resolve } = Promise.withResolvers<string>()
  // Listens all the time: between two calls of once() a chunk would be lost that comes right behind another.
  const take = (chunk: Buffer) => {
    chunks.push(chunk)
    tail = Buffer.concat([tail, chunk]).subarray(-last.length)
    if (!tail.equals(last)) return
    client.off("data", take)
    resolve(Buffer.concat(chunks).toString())
  }
  client.on("data", take)
  return promise
}
const HEADERS = {
  "Audit-Id": "1",
  "Content-Type": "text/plain",
  "X-Content-Type-Options": "nosniff",
  "Retry-After": "1",
}

test.each([200, 201, 404])("the head of a response with %d is the one that node:http writes", async (code) => {
  await open((req, res) => {
    if (req.url === "/direct") return answer(res, code, HEADERS, "body")
    res.writeHead(code, { ...HEADERS, "content-length": "4" })
    res.end("body")
  })
  client.write(get("/direct"))
  const direct = await received("body")
  client.write(get("/plain"))
  const withoutDate = (text: string) => text.replace(/Date: [^\r]{29}\r/, "Date: then\r")
  expect(withoutDate(direct)).toBe(withoutDate(await received("body")))
  expect(direct).toContain("Date: ")
})

test.each(["text with umlauts: äöü", new TextEncoder().encode("bytes: äöü"), ""])(
  "the body %p arrives",
  async (body) => {
    await open((_req, res) => answer(res, 200, HEADERS, body))
    client.write(get("/"))
    const text = typeof body === "string" ? body : new TextDecoder().decode(body)
    expect(await received(`\r\n\r\n${text}`)).toContain(`content-length: ${Buffer.byteLength(body)}\r\n`)
  },
)

test("requests that were sent at once are answered in their order", async () => {
  let first = (): void => undefined
  await open((req, res) => {
    const send = () => answer(res, 200, HEADERS, `<${req.url}>`)
    if (req.url !== "/1") return send()
    first = send
    setImmediate(() => first()) // when the others have been answered
  })
  client.write(get("/1") + get("/2") + get("/3"))
  expect((await received("</3>")).match(/<[^>]+>/g)).toEqual(["</1>", "</2>", "</3>"])
})

test("responses stay whole while the client does not read", async () => {
  const body = "0123456789".repeat(3000)
  let answered = 0
  await open((req, res) => {
    answer(res, 200, HEADERS, body + req.url)
    answered++
  })
  // given requests whose responses are more than the kernel keeps
  client.pause()
  const count = 1000
  client.write(Array.from({ length: count }, (_, i) => get(`/${i}`)).join(""))
  while (answered < 100) await new Promise((resolve) => setImmediate(resolve))
  // when the client reads
  const text = received(`${body}/${count - 1}`)
  client.resume()
  // then each is there, in its order
  const bodies = (await text).split(/HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n/).slice(1)
  expect(bodies).toEqual(Array.from({ length: count }, (_, i) => `${body}/${i}`))
})

test.each(["Connection: close\r\n", "Connection: keep-alive, close\r\n"])(
  "a client that asks with %p is told that the connection closes",
  async (header) => {
    await open((_req, res) => answer(res, 200, HEADERS, "last"))
    const closed = once(client, "close")
    client.write(get("/", header))
    expect(await received("last")).toContain("Connection: close\r\n")
    await closed
  },
)

test("a header that cannot be sent is refused, and nothing of the response is sent", async () => {
  let thrown: unknown
  await open((_req, res) => {
    try {
      answer(res, 200, { "Audit-Id": "1\r\nSet-Cookie: a" }, "body")
    } catch (err) {
      thrown = err
      answer(res, 500, HEADERS, "refused")
    }
  })
  client.write(get("/"))
  const text = await received("refused")
  expect(text).toStartWith("HTTP/1.1 500")
  expect(text).not.toContain("Cookie")
  expect(thrown).toBeInstanceOf(TypeError)
})

test("a response ends with finish and close, as others do", async () => {
  const events: string[] = []
  const closed = Promise.withResolvers<void>()
  await open((_req, res) => {
    res.on("finish", () => events.push("finish")).on("close", () => (events.push("close"), closed.resolve()))
    answer(res, 200, HEADERS, "body")
    events.push(`ended: ${res.writableEnded}, head sent: ${res.headersSent}, code ${res.statusCode}`)
  })
  client.write(get("/"))
  await received("body")
  await closed.promise
  expect(events).toEqual(["ended: true, head sent: true, code 200", "finish", "close"])
})
