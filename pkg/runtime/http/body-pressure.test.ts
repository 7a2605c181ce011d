import { expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { connect, createServer as createTcp, type AddressInfo, type Socket } from "node:net"
import { holdBack } from "./body-pressure.ts"

const PART = Buffer.alloc(256 * 1024, "x")
const PARTS = 256

/** A server whose HTTP/1.1 comes from another one's connections, as the listener's does, and a connection to it. */
async function start(onRequest: (req: IncomingMessage, res: ServerResponse) => void) {
  const http = createServer((req, res) => {
    const release = holdBack(req)
    res.once("close", release)
    onRequest(req, res)
  })
  const tcp = createTcp((socket) => void http.emit("connection", socket)).listen(0, "127.0.0.1")
  await once(tcp, "listening")
  const client = connect((tcp.address() as AddressInfo).port, "127.0.0.1")
  await once(client, "connect")
  return { client, [Symbol.dispose]: () => (client.destroy(), tcp.close()) }
}

/**
 * Sends a body of 64 MB, each part when the last has been taken; `sent` counts, and `whole` is called when nothing is
 * left.
 */
function send(client: Socket, chunked: boolean, whole = () => {}) {
  const progress = { sent: 0 }
  const next = () => {
    while (progress.sent < PARTS) {
      progress.sent++
      const last = progress.sent === PARTS
      const taken = chunked
        ? client.write(`${PART.length.toString(16)}\r\n${PART.toString()}\r\n${last ? "0\r\n\r\n" : ""}`)
        : client.write(PART)
      if (!taken) return void client.once("drain", next)
    }
    whole()
  }
  client.write(
    "POST / HTTP/1.1\r\nHost: a\r\n" +
      `${chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${PART.length * PARTS}`}\r\n\r\n`,
  )
  next()
  return progress
}

const answered = (client: Socket) =>
  new Promise<string>((resolve) => client.once("data", (data: Buffer) => resolve(data.toString().slice(0, 12))))

test.each([
  { how: "of a known length", chunked: false },
  { how: "in chunks", chunked: true },
])("a body $how waits at its sender until it is read, and then arrives completely", async ({ chunked }) => {
  // given a server that reads nothing
  let request: IncomingMessage | undefined
  let answer: ServerResponse | undefined
  const seen = Promise.withResolvers<IncomingMessage>()
  let onNext = (_res: ServerResponse) => {}
  using started = await start((req, res) => {
    if (request !== undefined) return onNext(res)
    request = req
    answer = res
    seen.resolve(req)
  })
  const { client } = started

  // when a body is sent for longer than all of it would take
  const progress = send(client, chunked)
  const unread = await seen.promise
  await Bun.sleep(400)

  // then most of it has not left, and little has gathered here
  expect(progress.sent).toBeLessThan(PARTS / 2)
  expect(unread.readableLength).toBeLessThan(2 * 1024 * 1024)

  // and it arrives, and the connection goes on
  let got = 0
  for await (const part of unread as AsyncIterable<Buffer>) got += part.length
  expect(got).toBe(PART.length * PARTS)
  answer!.end()
  expect(await answered(client)).toBe("HTTP/1.1 200")
  const next = new Promise<ServerResponse>((resolve) => (onNext = resolve))
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  ;(await next).end()
  expect(await answered(client)).toBe("HTTP/1.1 200")
})

test("a request whose body is not read leaves the connection open for the next one", async () => {
  using started = await start((_req, res) => void res.end())
  const { client } = started
  const first = answered(client)
  await new Promise<void>((whole) => send(client, false, whole))
  expect(await first).toBe("HTTP/1.1 200")
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  expect(await answered(client)).toBe("HTTP/1.1 200")
})
