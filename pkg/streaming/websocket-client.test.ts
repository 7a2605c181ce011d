/** kubectl's side of sessions over WebSockets, against the server's side. */
import { afterEach, describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { EventEmitter, once } from "node:events"
import type { Duplex } from "node:stream"
import { WebSocketServer, type WebSocket } from "ws"
import { systemRandom as random } from "../clock/random.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { UpgradeRefused } from "./dial.ts"
import { acceptPortForward } from "./port-forward.ts"
import { connectPortForwardOverWebSocket } from "./port-forward-client.ts"
import { acceptRemoteCommand } from "./remote-command.ts"
import { connectRemoteCommandOverWebSocket } from "./remote-command-client.ts"
import { ALL, closeServers, serve, shout, text, TTY } from "./sessions.fixtures.ts"
import { exitCodeOf, exitCodeStatus, type CommandStatus } from "./status.ts"
import { refuseUpgrade } from "./upgrade.ts"
import type { WebSocketOptions } from "./websocket-client.ts"
import { clientFrame, OPCODE, WebSocketFrameReader } from "./websocket-frames.ts"

/** Source: RFC 6455, 1.3. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

afterEach(closeServers)

describe("a remote command over a WebSocket", () => {
  test("has its streams, the end of its input and its exit code", async () => {
    const host = await serve((req, socket, head) => void acceptRemoteCommand(req, socket, head, ALL).then(shout))
    const command = await connectRemoteCommandOverWebSocket({ url: `http://${host}/exec`, streams: ALL, random })
    expect(command.protocol).toBe("v5.channel.k8s.io")
    command.stdin!.write("hel")
    command.stdin!.end("lo")
    expect(await Promise.all([text(command.stdout), text(command.stderr), command.status])).toEqual([
      "HELLO",
      "complaint",
      exitCodeStatus(3),
    ])
    await command.closed
  })

  test("carries megabytes in both directions, whose reader is slow", async () => {
    const host = await serve((req, socket, head) => {
      void acceptRemoteCommand(req, socket, head, ALL).then(async (session) => {
        session!.stdin!.pipe(session!.stdout!, { end: false })
        await new Promise<void>((resolve) => session!.stdin!.once("end", resolve))
        await session!.exit(exitCodeStatus(0))
      })
    })
    const command = await connectRemoteCommandOverWebSocket({ url: `http://${host}/exec`, streams: ALL, random })
    const part = Buffer.alloc(100_000, "0123456789")
    let sent = 0
    const sending = (async () => {
      for (; sent < 40; sent++)
        if (!command.stdin!.write(part)) await new Promise<void>((go) => command.stdin!.once("drain", go))
      command.stdin!.end()
    })()
    let length = 0
    let isAsSent = true
    for await (const chunk of command.stdout! as AsyncIterable<Buffer>) {
      for (const byte of chunk) if (byte !== 0x30 + (length++ % 10)) isAsSent = false
      await Promise.resolve()
    }
    await sending
    expect([length, isAsSent, exitCodeOf(await command.status)]).toEqual([4_000_000, true, 0])
  })

  test("gets the sizes of the terminal", async () => {
    const host = await serve(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, TTY))!
      for await (const { width } of session.resize!) {
        await session.exit(exitCodeStatus(width))
        return
      }
    })
    const command = await connectRemoteCommandOverWebSocket({ url: `http://${host}/exec`, streams: TTY, random })
    command.resize({ width: 80, height: 24 })
    command.stdout!.resume()
    expect(exitCodeOf(await command.status)).toBe(80)
  })

  test.each([
    ["answers with an error", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", 403],
    ["does not prove that it understands", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", 101],
  ])("is refused by a server that %s", async (_title, answer, status) => {
    const host = await serve((_req, socket) => void socket.end(answer))
    const connecting = connectRemoteCommandOverWebSocket({ url: `http://${host}/exec`, streams: ALL, random })
    await expect(connecting).rejects.toMatchObject({ name: UpgradeRefused.name, status })
  })
})

describe("a remote command whose connection ends without a status", () => {
  /** Connects to a server that does this with the connection. */
  async function connected(how: (ws: WebSocket, socket: Duplex) => void, options: Partial<WebSocketOptions> = {}) {
    const host = await serve((req, socket, head) =>
      new WebSocketServer({ noServer: true, autoPong: false }).handleUpgrade(req, socket, head, (ws) =>
        how(ws, socket),
      ),
    )
    const url = `http://${host}/exec`
    const command = await connectRemoteCommandOverWebSocket({ url, streams: ALL, random, ...options })
    command.stderr!.resume()
    return command
  }
  const ended = async (how: (ws: WebSocket, socket: Duplex) => void) => {
    const command = await connected(how)
    command.stdout!.resume()
    return command.status
  }
  const failure = (why: string) => ({
    metadata: {},
    status: "Failure",
    message: `error reading from error stream: next reader: ${why}`,
  })

  test("has succeeded if the server closes it as usual", async () => {
    expect(exitCodeOf(await ended((ws) => ws.close(1000)))).toBe(0)
  })

  test.each<[why: string, how: (ws: WebSocket, socket: Duplex) => void]>([
    ["websocket: close 1006 (abnormal closure): unexpected EOF", (_, socket) => void socket.destroy()],
    ["websocket: close 1001 (going away): bye", (ws) => ws.close(1001, "bye")],
    ["websocket: close 1005 (no status)", (ws) => ws.close()],
    ["websocket: close 4000", (ws) => ws.close(4000)],
  ])("fails otherwise: %s", async (why, how) => {
    expect(await ended(how)).toEqual(failure(why) as CommandStatus)
  })

  test("fails after 61 seconds without a sign of life", async () => {
    // given a server that hears pings and answers none
    const clock = new VirtualClock(0)
    clock.exact = true
    const heard = new EventEmitter()
    const command = await connected((ws) => void ws.on("ping", () => heard.emit("ping")), { clock })
    command.stdout!.resume()
    // when it has heard the pings of a minute
    for (let i = 0; i < 12; i++) await Promise.all([once(heard, "ping"), clock.advance(5000)])
    await clock.advance(1000)
    // then
    expect((await command.status).message).toMatch(
      /next reader: read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+: i\/o timeout$/,
    )
  })

  test("goes on while a slow reader keeps the answers of pings from being read", async () => {
    // given a server that sends more than fits before it answers pings
    const clock = new VirtualClock(0)
    clock.exact = true
    const heard = new EventEmitter()
    const size = 4_000_000
    const command = await connected(
      (ws) => {
        ws.on("ping", () => heard.emit("ping"))
        ws.send(Buffer.concat([Buffer.of(1), Buffer.alloc(size)]))
        ws.send(Buffer.concat([Buffer.of(1), Buffer.alloc(size)]))
        heard.once("read", () => ws.close(1000))
      },
      { clock },
    )
    await once(command.stdout!, "readable")
    // when nothing is read for ten minutes
    for (let i = 0; i < 120; i++) await Promise.all([once(heard, "ping"), clock.advance(5000)])
    // then what was sent is there, and the end as usual
    let length = 0
    for await (const chunk of command.stdout! as AsyncIterable<Buffer>)
      if ((length += chunk.length) === 2 * size) heard.emit("read")
    expect([length, exitCodeOf(await command.status)]).toEqual([2 * size, 0])
  })

  test("goes on as long as pings are answered", async () => {
    // given a server that answers pings, each with a dot on the output behind the answer
    const clock = new VirtualClock(0)
    clock.exact = true
    const command = await connected(
      (ws) => {
        let pings = 0
        ws.on("ping", (bytes: Buffer) => {
          ws.pong(bytes)
          ws.send("\u0001.")
          if (++pings === 20) ws.close(1000)
        })
      },
      { clock },
    )
    // when time passes, each time after the answer has come
    for (let i = 0; i < 20; i++) await Promise.all([once(command.stdout!, "data"), clock.advance(5000)])
    // then
    expect(exitCodeOf(await command.status)).toBe(0)
  })
})

test("a message in parts that never end closes the connection at a bound", async () => {
  // given a server that sends the beginnings of one message, and nothing else
  const part = Buffer.alloc(1024 * 1024 + 10)
  part.set([0x02, 127, 0, 0, 0, 0, 0, 0x10, 0, 0])
  let sent = 0
  const host = await serve((req, socket) => {
    const proof = createHash("sha1").update(`${req.headers["sec-websocket-key"]}${GUID}`).digest("base64")
    const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    socket.write(
      [...head, `Sec-WebSocket-Accept: ${proof}`, "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"].join("\r\n"),
    )
    socket.on("error", () => undefined)
    const more = () => {
      if (socket.destroyed || sent === 200) return
      sent++
      part[0] = sent === 1 ? 0x02 : 0x00
      socket.write(Buffer.from(part), more)
    }
    more()
  })

  // when it is read
  const command = await connectRemoteCommandOverWebSocket({ url: `http://${host}/exec`, streams: ALL, random })
  command.status.catch(() => undefined)
  await command.closed

  // then it is given up
  expect(sent).toBeLessThan(200)
})

test("ports are forwarded over a WebSocket", async () => {
  const host = await serve(async (req, socket, head) => {
    const session = (await acceptPortForward(req, socket, head)) ?? []
    for await (const { port, data } of session) data.end(`port ${port}`)
  })
  const client = await connectPortForwardOverWebSocket({ url: `http://${host}/portforward`, random })
  expect(await text(client.open(80).data)).toBe("port 80")
  client.close()
})

test("a server that speaks only SPDY refuses a WebSocket, so that kubectl speaks SPDY too", async () => {
  const host = await serve((_req, socket) => refuseUpgrade(socket, 400, "unable to upgrade: only SPDY"))
  const connecting = connectPortForwardOverWebSocket({ url: `http://${host}/portforward`, random })
  await expect(connecting).rejects.toBeInstanceOf(UpgradeRefused)
})

describe("frames of a WebSocket", () => {
  test.each([0, 1, 125, 126, 65_535, 65_536])("of a client of %d bytes have their length and are masked", (length) => {
    const payload = Buffer.alloc(length, "x")
    const frame = clientFrame(OPCODE.binary, payload, Buffer.from([1, 2, 3, 4]))
    const from = frame.length - length
    expect(frame[0]).toBe(0x82)
    expect(from).toBe(length < 126 ? 6 : length < 65_536 ? 8 : 14)
    expect(frame.subarray(from).every((byte, at) => (byte ^ [1, 2, 3, 4][at % 4]!) === 0x78)).toBe(true)
  })

  test("of a server come in pieces of any size, and masked ones are refused", () => {
    const bytes = Buffer.concat([
      Buffer.from([0x02, 1, 0x61, 0x80, 2, 0x62, 0x63, 0x82, 126, 0, 130]),
      Buffer.alloc(130, "y"),
    ])
    const reader = new WebSocketFrameReader()
    const frames = [...bytes].flatMap((byte) => [...reader.read(Uint8Array.of(byte))])
    expect(frames.map(({ opcode, isLast, payload }) => [opcode, isLast, payload.toString()])).toEqual([
      [2, false, "a"],
      [0, true, "bc"],
      [2, true, "y".repeat(130)],
    ])
    expect(() => [...reader.read(clientFrame(OPCODE.text, Buffer.from("a"), Buffer.alloc(4)))]).toThrow(
      "websocket: invalid frame",
    )
  })
})
