import { afterEach, expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { connect, type AddressInfo, type Socket, createServer as createTcp } from "node:net"
import { takeShortBody } from "./short-body.ts"

let http: Server
const open: { destroy(): void }[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.destroy()
})

/** A server whose HTTP/1.1 comes from another one's connections, as the listener's does, and a connection to it. */
async function start(onRequest: (req: IncomingMessage, res: ServerResponse) => void): Promise<Socket> {
  http = createServer(onRequest)
  const tcp = createTcp((socket) => void http.emit("connection", socket)).listen(0, "127.0.0.1")
  await once(tcp, "listening")
  const client = connect((tcp.address() as AddressInfo).port, "127.0.0.1")
  open.push(client, { destroy: () => tcp.close() })
  await once(client, "connect")
  return client
}
const post = (length: number, body: string) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`
/** Answers with how the body came, and the body. */
function echo(req: IncomingMessage, res: ServerResponse): void {
  const inParts = async () => {
    let text = ""
    for await (const part of req as AsyncIterable<Buffer>) text += part.toString()
    res.end(`<in parts: ${text}>`)
  }
  const whole = (body: Buffer) => void res.end(`<whole: ${body.toString()}>`)
  if (!takeShortBody(req, { whole, inParts: () => void inParts(), gone: () => undefined })) void inParts()
}
async function answers(client: Socket, count: number): Promise<string[]> {
  let text = ""
  for (;;) {
    text += String((await once(client, "data"))[0])
    const found = text.match(/<[^>]*>/g) ?? []
    if (found.length === count) return found
  }
}

test("a body that comes with its head is taken whole, on a connection that goes on", async () => {
  const client = await start(echo)
  client.write(post(4, "body"))
  expect(await answers(client, 1)).toEqual(["<whole: body>"])
  client.write(post(5, "again") + post(4, "more"))
  expect(await answers(client, 2)).toEqual(["<whole: again>", "<whole: more>"])
})

test("a body that comes in parts is read from its stream", async () => {
  const seen = Promise.withResolvers<void>()
  const client = await start((req, res) => (echo(req, res), seen.resolve()))
  client.write(post(4, "bo"))
  await seen.promise
  client.write("dy")
  expect(await answers(client, 1)).toEqual(["<in parts: body>"])
})

test("a body of which a part has come is read from its stream", async () => {
  const client = await start((req, res) => void setImmediate(() => echo(req, res)))
  client.write(post(4, "body"))
  expect(await answers(client, 1)).toEqual(["<in parts: body>"])
})

test("a body that is long or in chunks is read from its stream", async () => {
  const client = await start(echo)
  const long = "a".repeat(20_000)
  client.write(post(long.length, long))
  expect(await answers(client, 1)).toEqual([`<in parts: ${long}>`])
  client.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
  expect(await answers(client, 1)).toEqual(["<in parts: body>"])
})

test.each(["end", "destroy"] as const)("a client that goes away before the body (%s) is noticed", async (how) => {
  const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const unexpected = () => gone.reject(new Error("there was a body"))
  const client = await start((req) => {
    takeShortBody(req, { whole: unexpected, inParts: unexpected, gone: () => gone.resolve() })
    asked.resolve()
  })
  client.write(post(4, ""))
  await asked.promise
  client[how]()
  await gone.promise
})
