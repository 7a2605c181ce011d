import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { VirtualClock } from "../../clock/virtual.ts"
import { MOST_STREAMS, SpdyConnection } from "./connection.ts"
import { Duplex } from "node:stream"
import { FrameReader, type Frame, FrameWriter } from "./frames.ts"
import type { SpdyStream } from "./stream.ts"

let server: Server | undefined
afterEach(() => void server?.close())

/** Two ends of a TCP connection. */
async function sockets(): Promise<[Socket, Socket]> {
  server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true })
  const [far] = (await once(server, "connection")) as [Socket]
  return [near, far]
}

async function pair(onStream: (stream: SpdyStream) => boolean) {
  const [near, far] = await sockets()
  const client = new SpdyConnection({ socket: near, side: "client" })
  const peer = new SpdyConnection({ socket: far, side: "server", onStream })
  return { client, peer, near, far }
}

const text = async (stream: SpdyStream) => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

describe("a SPDY connection", () => {
  test("is kept alive by pings of its own side, until it ends", async () => {
    // given a client that sends a ping every five seconds
    const clock = new VirtualClock(0)
    clock.exact = true
    const [near, far] = await sockets()
    const client = new SpdyConnection({ socket: near, side: "client" })
    client.keepAlive(clock, 5000)
    // when eleven seconds pass
    const reader = new FrameReader()
    const pings: number[] = []
    const heard = (async () => {
      for await (const bytes of far as AsyncIterable<Buffer>)
        for (const frame of reader.read(bytes)) if (frame.type === "ping") pings.push(frame.id)
    })()
    await clock.advance(11_000)
    // and after the connection has ended no more
    near.end()
    await heard
    client.destroy()
    await client.closed
    // then no timer is left, which would hold the connection, and nothing more is sent
    expect(clock.pending).toBe(0)
    await clock.advance(60_000)
    expect(pings).toEqual([1, 3])
  })

  test("carries streams with headers in both directions, and each side ends its own", async () => {
    // given a server that reads to the end before it answers
    const seen: unknown[] = []
    const { client } = await pair((stream) => {
      seen.push([stream.id, stream.headers])
      void text(stream).then((got) => stream.end(`got ${got.toString()}`))
      return true
    })
    // when two streams are used at once
    const [first, second] = [client.open({ streamtype: "data", port: "80" }), client.open({ streamtype: "error" })]
    first.write("a")
    second.end("b")
    expect((await text(second)).toString()).toBe("got b")
    first.end("c")
    // then neither waits for the other
    expect((await text(first)).toString()).toBe("got ac")
    expect(seen).toEqual([
      [1, { streamtype: "data", port: "80" }],
      [3, { streamtype: "error" }],
    ])
    client.destroy()
  })

  test("refuses further streams of a peer that has very many open, and takes others when some have ended", async () => {
    // given a server that keeps its streams open until they are ended
    let seen = 0
    const { client } = await pair((stream) => {
      seen++
      void text(stream).then(() => stream.end("done"))
      return true
    })
    const open = Array.from({ length: MOST_STREAMS }, () => client.open({}))
    // when
    await client.open({}).gone
    // then
    expect(seen).toBe(MOST_STREAMS)
    open[0]!.end()
    expect((await text(open[0]!)).toString()).toBe("done")
    const next = client.open({})
    next.end()
    expect((await text(next)).toString()).toBe("done")
    client.destroy()
  })

  test("goes on with other streams when one ends with a full buffer", async () => {
    // given two streams
    const [near, far] = await sockets()
    const client = new SpdyConnection({ socket: near, side: "client" })
    const [full, other] = [client.open({ streamtype: "stdout" }), client.open({ streamtype: "error" })]

    // when the end of one comes with more than fits, and then what the other says
    const writer = new FrameWriter()
    const send = (frame: Frame) => far.write(writer.write(frame))
    for (const streamId of [1, 3]) send({ type: "synReply", streamId, fin: false, headers: {} })
    send({ type: "data", streamId: 1, fin: true, data: Buffer.alloc(300 * 1024) })
    await once(full, "readable")
    send({ type: "data", streamId: 3, fin: true, data: Buffer.from("status") })

    // then
    expect((await text(full)).length).toBe(300 * 1024)
    expect((await text(other)).toString()).toBe("status")
    client.destroy()
  })

  test("does not wait for room that its socket has made already", async () => {
    // given a socket that takes all at once, though it says of each part that it is too much
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, callback) => callback() })
    const write = socket.write.bind(socket)
    Object.assign(socket, { write: (chunk: Buffer) => (write(chunk), false) })
    Object.defineProperty(socket, "writableNeedDrain", { value: false })
    const client = new SpdyConnection({ socket: socket as unknown as Socket, side: "client" })
    const stream = client.open({ streamtype: "stdin" })
    socket.push(new FrameWriter().write({ type: "synReply", streamId: 1, fin: false, headers: {} }))
    // when, then
    await new Promise<void>((resolve) => stream.write("data", () => resolve()))
    client.destroy()
  })

  test("passes much data completely, and slows the sender down while the reader is slow", async () => {
    const accepted = Promise.withResolvers<SpdyStream>()
    const { client } = await pair((stream) => {
      accepted.resolve(stream)
      return true
    })
    const stream = client.open({})
    const far = await accepted.promise
    // when nobody reads
    let sent = 0
    const part = Buffer.alloc(64 * 1024, "abcdefg")
    while (stream.write(part) || stream.writableLength < 4 * part.length)
      if ((sent += part.length) > 64 * 1024 * 1024) break
    await new Promise((resolve) => setImmediate(resolve))
    expect(far.readableLength).toBeLessThan(1024 * 1024)
    // then all of it arrives once somebody does
    const total = 32 * 1024 * 1024
    let queued = sent
    const pump = async () => {
      while (queued < total) {
        queued += part.length
        if (!stream.write(part)) await once(stream, "drain")
      }
      stream.end()
    }
    let got = 0
    const read = async () => {
      for await (const chunk of far) got += (chunk as Buffer).length
    }
    await Promise.all([pump(), read()])
    expect(got).toBeGreaterThanOrEqual(total)
    client.destroy()
  }, 60_000)

  test("delays data until the peer has replied", async () => {
    // given a peer that says nothing yet
    const [near, far] = await sockets()
    const client = new SpdyConnection({ socket: near, side: "client" })
    const reader = new FrameReader()
    const frames: Frame[] = []
    const writer = new FrameWriter()
    const closed = Promise.withResolvers<void>()
    far.on("data", (chunk) => {
      for (const frame of reader.read(chunk as Buffer)) {
        frames.push(frame)
        // when it replies at last, in the answer to a ping sent behind the data
        if (frame.type === "synStream") far.write(writer.write({ type: "ping", id: 2 }))
        if (frame.type === "ping") far.write(writer.write({ type: "synReply", streamId: 1, fin: false, headers: {} }))
        if (frame.type === "data" && frame.fin) closed.resolve()
      }
    })
    client.open({}).end("early")
    await closed.promise
    // then the data comes behind it
    expect(frames.map(({ type }) => type)).toEqual(["synStream", "ping", "data", "data"])
    client.destroy()
    far.destroy()
  })

  test("a stream that is refused, or reset, ends without an error", async () => {
    const { client } = await pair((stream) => {
      if (stream.headers.streamtype === "no") return false
      stream.resume().once("data", () => stream.destroy())
      return true
    })
    const refused = client.open({ streamtype: "no" })
    expect((await text(refused)).length).toBe(0)
    const reset = client.open({})
    reset.write("x")
    expect((await text(reset)).length).toBe(0)
    await reset.gone
    expect(reset.write("dropped")).toBe(true)
    client.destroy()
  })

  test("after GOAWAY open streams continue, no new ones are opened, and the socket is closed at the end", async () => {
    const { client, peer } = await pair((stream) => {
      stream.once("data", () => stream.end("bye"))
      return true
    })
    const stream = client.open({})
    await new Promise<void>((resolve) => stream.write("x", () => resolve()))
    client.close()
    stream.end()
    expect((await text(stream)).toString()).toBe("bye")
    expect((await text(client.open({}))).length).toBe(0)
    await Promise.all([client.closed, peer.closed])
  })

  test("when the connection is cut, received data can be read and then all streams end", async () => {
    const { client, far } = await pair((stream) => {
      stream.write("partial", () => far.destroy())
      return true
    })
    const stream = client.open({})
    expect((await text(stream)).toString()).toBe("partial")
    await client.closed
    expect(stream.write("dropped")).toBe(true)
  })

  test("invalid data close the connection", async () => {
    const { client, far } = await pair(() => true)
    far.write(Buffer.from("800300010000000b0000000100000000400078bbff", "hex"))
    await client.closed
  })
})
