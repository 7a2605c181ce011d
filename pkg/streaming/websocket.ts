/**
 * Accepts WebSockets and carries streams over them. Sources: apimachinery/pkg/util/httpstream/wsstream/conn.go
 * (channels), client-go tools/portforward/tunneling_connection.go (tunnel), KEP-4006 (v5's CLOSE signal).
 */
import type { IncomingMessage } from "node:http"
import { Duplex } from "node:stream"
import { type RawData, type WebSocket, WebSocketServer } from "ws"
import { headerList, refuseUpgrade, type UpgradeRequest } from "./upgrade.ts"

/** What channels and tunnels need of a WebSocket, that of a server or of a client. */
export interface WebSocketConnection {
  readonly readyState: number
  readonly OPEN: number
  readonly CLOSED: number
  on(event: "message", listener: (data: RawData) => void): unknown
  on(event: "error", listener: () => void): unknown
  once(event: "close", listener: () => void): unknown
  send(data: string | Uint8Array, done: () => void): void
  pause(): void
  resume(): void
  close(code: number): void
  terminate(): void
}

/** The first byte of v5's message that closes a channel: the second byte is the number of the channel. */
const CLOSE_SIGNAL = 255

const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 32 * 1024 * 1024 })

// The subprotocol is chosen here and not by `ws`, which refuses `SPDY/3.1+portforward.k8s.io`: a name with a slash is
// not a token (RFC 6455, 4.1).
const agreed = new WeakMap<object, string>()
server.on("headers", (headers, request) => {
  const protocol = agreed.get(request)
  if (protocol !== undefined) headers.push(`Sec-WebSocket-Protocol: ${protocol}`)
})

/**
 * Completes the handshake with the first of the client's subprotocols that is in `supported`; with none when the client
 * offers none. Resolves to undefined when the request was refused and answered.
 */
export function acceptWebSocket(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  supported: readonly string[],
): Promise<{ ws: WebSocket; protocol: string } | undefined> {
  if (socket.destroyed) return Promise.resolve(undefined)
  const offered = headerList(req.headers["sec-websocket-protocol"])
  const protocol = offered.find((name) => supported.includes(name))
  if (offered.length > 0 && protocol === undefined) {
    refuseUpgrade(
      socket,
      400,
      `unable to upgrade: requested protocol(s) are not supported: [${offered.join(" ")}]; supports ` +
        `[${supported.join(" ")}]`,
    )
    return Promise.resolve(undefined)
  }
  const { "sec-websocket-protocol": _, ...headers } = req.headers
  const request = { method: req.method, url: req.url, headers } as IncomingMessage
  if (protocol !== undefined) agreed.set(request, protocol)
  return new Promise((resolve) => {
    // When `ws` finds an error in the handshake it answers, closes the socket and never calls back.
    socket.once("close", () => resolve(undefined))
    server.handleUpgrade(request, socket, head, (ws) => resolve({ ws, protocol: protocol ?? "" }))
  })
}

const closeOf = (ws: WebSocketConnection): Promise<void> =>
  new Promise((resolve) => {
    ws.once("close", () => resolve())
    ws.on("error", () => ws.terminate()) // a damaged message or a broken connection: `close` follows
    if (ws.readyState === ws.CLOSED) resolve()
  })

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)

/** Channels over one WebSocket. Each message begins with the number of its channel. */
export class WebSocketChannels {
  readonly closed: Promise<void>
  readonly #channels = new Map<number, Channel>()
  readonly #full = new Set<Channel>()
  readonly #ws: WebSocketConnection
  readonly #codec: { readonly base64: boolean; readonly closeSignal: boolean; readonly client?: boolean }

  /**
   * `base64`: messages are text, first the channel as a digit, then base64. `closeSignal`: v5, where the client may end
   * a channel. (A server never does: clients report the signal as an unknown channel.) `client`: this is the client.
   */
  constructor(
    ws: WebSocketConnection,
    codec: { readonly base64: boolean; readonly closeSignal: boolean; readonly client?: boolean },
  ) {
    this.#ws = ws
    this.#codec = codec
    this.closed = closeOf(ws)
    void this.closed.then(() => {
      for (const channel of this.#channels.values()) channel.remoteEnd()
    })
    ws.on("message", (data) => this.#receive(bytesOf(data)))
  }

  /**
   * Returns the stream of a channel. Messages of other channels are discarded. Data that is written after the
   * connection has ended is dropped.
   */
  channel(number: number): Duplex {
    const channel = new Channel(this, number)
    this.#channels.set(number, channel)
    return channel
  }

  send(number: number, data: Buffer, done: () => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return done()
    const message = this.#codec.base64
      ? String(number) + data.toString("base64")
      : Buffer.concat([Buffer.from([number]), data])
    this.#ws.send(message, () => done()) // a failure means that the connection has ended: see `closed`
  }

  /** Tells the server that a channel has ended. A server tells its client nothing. */
  ended(number: number, done: () => void): void {
    const { client = false, closeSignal } = this.#codec
    if (!client || !closeSignal || this.#ws.readyState !== this.#ws.OPEN) return done()
    this.#ws.send(Buffer.from([CLOSE_SIGNAL, number]), () => done())
  }

  close(): void {
    this.#ws.close(1000)
  }

  terminate(): void {
    this.#ws.terminate()
  }

  setFull(channel: Channel, full: boolean): void {
    const before = this.#full.size
    if (full) this.#full.add(channel)
    else this.#full.delete(channel)
    if (this.#ws.readyState !== this.#ws.OPEN) return
    if (before === 0 && this.#full.size > 0) this.#ws.pause()
    if (before > 0 && this.#full.size === 0) this.#ws.resume()
  }

  #receive(message: Buffer): void {
    if (message.length === 0) return
    const first = message[0]!
    if (this.#codec.closeSignal && first === CLOSE_SIGNAL) {
      this.#channels.get(message[1] ?? -1)?.remoteEnd()
      return
    }
    const number = this.#codec.base64 ? first - 0x30 : first
    const rest = message.subarray(1)
    const data = this.#codec.base64 ? Buffer.from(rest.toString("latin1"), "base64") : rest
    if (data.length > 0) this.#channels.get(number)?.receive(data)
  }
}

class Channel extends Duplex {
  #remoteEnded = false
  readonly #socket: WebSocketChannels
  readonly #number: number

  constructor(socket: WebSocketChannels, number: number) {
    // Not `autoDestroy`: with it `for await` over the channel would destroy it at the end of reading, while this side
    // still writes.
    super({
      allowHalfOpen: true,
      autoDestroy: false,
      readableHighWaterMark: 256 * 1024,
      writableHighWaterMark: 64 * 1024,
    })
    this.#socket = socket
    this.#number = number
  }

  receive(data: Buffer): void {
    if (this.#remoteEnded || this.destroyed) return
    if (!this.push(data)) this.#socket.setFull(this, true)
  }

  remoteEnd(): void {
    if (this.#remoteEnded) return
    this.#remoteEnded = true
    if (!this.destroyed) this.push(null)
    // Once its end is there, a channel never asks for more: it would block the others for ever.
    this.#socket.setFull(this, false)
  }

  override _read(): void {
    this.#socket.setFull(this, false)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#socket.send(this.#number, chunk, callback)
  }

  override _final(callback: () => void): void {
    this.#socket.ended(this.#number, callback)
  }

  override _destroy(_error: Error | null, callback: (error: Error | null) => void): void {
    this.#remoteEnded = true
    this.#socket.setFull(this, false)
    callback(null)
  }
}

/** A byte stream in binary messages, whose boundaries have no meaning: `SPDY/3.1+…` subprotocols run over it. */
export class WebSocketTunnel extends Duplex {
  readonly #ws: WebSocketConnection

  constructor(ws: WebSocketConnection) {
    super({ allowHalfOpen: false, readableHighWaterMark: 256 * 1024, writableHighWaterMark: 64 * 1024 })
    this.#ws = ws
    ws.on("message", (data) => {
      if (!this.destroyed && !this.push(bytesOf(data))) ws.pause()
    })
    void closeOf(ws).then(() => {
      if (this.destroyed) return
      this.push(null)
      this.#destroyWhenRead()
    })
  }

  override _read(): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return callback()
    this.#ws.send(chunk, () => callback())
  }

  override _final(callback: () => void): void {
    this.#ws.close(1000)
    callback()
  }

  override _destroy(_error: Error | null, callback: (error: Error | null) => void): void {
    this.#ws.terminate()
    callback(null)
  }

  #destroyWhenRead(): void {
    if (this.readableLength === 0 && !this.isPaused()) this.destroy()
    else this.once("end", () => this.destroy())
  }
}
