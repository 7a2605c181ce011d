/** WebSockets as a client over a connection of its own. Source: RFC 6455; client-go transport/websocket. */
import { createHash } from "node:crypto"
import { EventEmitter } from "node:events"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Clock } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import { type DialOptions, dialUpgrade, UpgradeRefused } from "./dial.ts"
import { Heartbeat } from "./heartbeat.ts"
import { clientFrame, MOST_PAYLOAD, OPCODE, WebSocketFrameReader } from "./websocket-frames.ts"
import type { WebSocketConnection } from "./websocket.ts"

/** What the server's proof of the handshake is made of. Source: RFC 6455, 1.3. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
const NORMAL = 1000
const PROTOCOL_ERROR = 1002
/** Stands for a close frame without a code. */
const NO_CODE = 1005
/** A connection that ends without a close frame. */
const ABNORMAL = "websocket: close 1006 (abnormal closure): unexpected EOF"

/** The names of codes. Source: gorilla/websocket conn.go CloseError. */
const CLOSE_NAMES: Readonly<Record<number, string>> = {
  1001: "going away",
  1002: "protocol error",
  1003: "unsupported data",
  1005: "no status",
  1007: "invalid payload data",
  1008: "policy violation",
  1009: "message too big",
  1010: "mandatory extension missing",
  1011: "internal server error",
  1015: "TLS handshake error",
}

function closeText(code: number, reason: string): string {
  const name = CLOSE_NAMES[code]
  return `websocket: close ${code}${name === undefined ? "" : ` (${name})`}${reason === "" ? "" : `: ${reason}`}`
}

/** The addresses of both ends, as Go's errors have them. */
function addressesOf(socket: Duplex): string {
  const { localAddress, localPort, remoteAddress, remotePort } = socket as Socket
  const end = (address = "", port = 0) => `${address.includes(":") ? `[${address}]` : address}:${port}`
  return `${end(localAddress, localPort)}->${end(remoteAddress, remotePort)}`
}

export interface WebSocketOptions extends DialOptions {
  /** Masks what is sent. */
  readonly random: Random
}

/**
 * Requests an upgrade of `url` to a WebSocket with one of `protocols`. Rejects with UpgradeRefused, also when the
 * server agrees to none of them, or with the error of the socket.
 */
export async function dialWebSocket(
  options: WebSocketOptions,
  protocols: readonly string[],
): Promise<{ readonly ws: WebSocketClient; readonly protocol: string }> {
  const key = Buffer.from(options.random.bytes(16)).toString("base64")
  const upgraded = await dialUpgrade(options, "GET", {
    Upgrade: "websocket",
    "Sec-WebSocket-Key": key,
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": protocols.join(", "),
  })
  const { socket, head, headers } = upgraded
  const refuse = (why: string) => {
    socket.destroy()
    return new UpgradeRefused(101, why)
  }
  const proof = createHash("sha1").update(`${key}${GUID}`).digest("base64")
  if (headers.get("sec-websocket-accept") !== proof) throw refuse("websocket: bad handshake")
  const protocol = headers.get("sec-websocket-protocol") ?? ""
  if (!protocols.includes(protocol))
    throw refuse(`invalid protocol, expected one of ${JSON.stringify(protocols)}, got ${JSON.stringify(protocol)}`)
  return { ws: new WebSocketClient(socket, head, options.random), protocol }
}

/** The client's end. Emits `message` with each whole message, and `close` at the end. */
export class WebSocketClient extends EventEmitter implements WebSocketConnection {
  readonly OPEN = 1
  readonly CLOSED = 3
  readyState = 1
  readonly #socket: Duplex
  readonly #random: Random
  readonly #reader = new WebSocketFrameReader()
  /** The parts of a message whose last frame has not come. */
  #parts: Buffer[] = []
  #partsLength = 0
  #isClosing = false
  #isReading = false
  #isPaused = false
  #heartbeat: Heartbeat | undefined
  /** Why the connection has ended, in the words of upstream's client; undefined when the server closed it as usual. */
  ending: string | undefined = ABNORMAL

  constructor(socket: Duplex, head: Uint8Array, random: Random) {
    super()
    this.#random = random
    this.#socket = socket
    socket.on("error", () => socket.destroy())
    socket.once("close", () => {
      this.#heartbeat?.stop()
      this.readyState = this.CLOSED
      this.emit("close")
    })
    socket.on("end", () => socket.destroy())
    socket.on("data", (bytes: Buffer) => this.#receive(bytes))
    socket.pause()
    // What has come is passed on when the owner listens, and has made its channels in the same turn.
    this.on("newListener", (event: string) => {
      if (event !== "message" || this.#isReading) return
      this.#isReading = true
      queueMicrotask(() => {
        if (head.length > 0) this.#receive(head)
        socket.resume()
      })
    })
  }

  send(data: string | Uint8Array, done: () => void): void {
    const isText = typeof data === "string"
    this.#write(isText ? OPCODE.text : OPCODE.binary, isText ? Buffer.from(data) : data, done)
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#socket.resume()
  }

  /** Ends the connection when the server gives no sign of life any more. */
  keepAlive(clock: Clock): void {
    this.#heartbeat = new Heartbeat({
      clock,
      ask: () => this.#write(OPCODE.ping, Buffer.alloc(0), () => undefined),
      isReading: () => !this.#isPaused,
      lost: () => {
        this.ending = `read tcp ${addressesOf(this.#socket)}: i/o timeout`
        this.terminate()
      },
    })
  }

  /** Tells the server that this is the end, and closes the connection. */
  close(code = NORMAL): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const payload = Buffer.alloc(2)
    payload.writeUInt16BE(code)
    this.#write(OPCODE.close, payload, () => undefined)
    this.#socket.end(() => this.#socket.destroy())
  }

  terminate(): void {
    this.#socket.destroy()
  }

  #write(opcode: number, payload: Uint8Array, done: () => void): void {
    this.#socket.write(clientFrame(opcode, payload, this.#random.bytes(4)), () => done())
  }

  #receive(bytes: Uint8Array): void {
    try {
      for (const { opcode, isLast, payload } of this.#reader.read(bytes))
        if (opcode === OPCODE.ping) this.#write(OPCODE.pong, payload, () => undefined)
        else if (opcode === OPCODE.pong) this.#heartbeat?.answered()
        else if (opcode === OPCODE.close) {
          const code = payload.length < 2 ? NO_CODE : payload.readUInt16BE()
          this.ending = code === NORMAL ? undefined : closeText(code, payload.toString("utf8", 2))
          this.close(code === NO_CODE ? NORMAL : code)
        } else if (opcode <= OPCODE.binary) {
          this.#partsLength += payload.length
          if (this.#partsLength > MOST_PAYLOAD) throw new Error("websocket: read limit exceeded")
          if (payload.length > 0) this.#parts.push(payload)
          if (!isLast) continue
          const message = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
          this.#parts = []
          this.#partsLength = 0
          this.emit("message", message)
        }
    } catch {
      this.close(PROTOCOL_ERROR)
      this.terminate()
    }
  }
}
