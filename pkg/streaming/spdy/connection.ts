/**
 * A SPDY/3.1 connection over any duplex byte stream, as client or server. Sources: spdy-protocol-draft3-1;
 * moby/spdystream (connection.go, stream.go), which every Kubernetes client and container runtime uses.
 *
 * It behaves as its peers do in practice:
 *
 *  - Flow control windows are neither kept nor announced: spdystream never sends WINDOW_UPDATE, so waiting for one
 *    would never end. Back-pressure is TCP's: when a stream's reader is slow, nothing more is read from the whole
 *    connection.
 *  - spdystream drops data that arrives before the SYN_REPLY. So streams opened here hold their data until the reply is
 *    there.
 *  - The end of the connection ends the streams as a half-close does; data that had arrived can still be read.
 */
import type { Clock, Timer } from "../../clock/clock.ts"
import type { Duplex } from "node:stream"
import { type Frame, FrameReader, FrameWriter, RST } from "./frames.ts"
import type { SpdyHeaders } from "./headers.ts"
import { SpdyStream } from "./stream.ts"

export interface SpdyConnectionOptions {
  /** The socket after the upgrade. From here on the connection owns it. */
  readonly socket: Duplex
  readonly side: "server" | "client"
  /** Bytes that arrived with the upgrade. */
  readonly head?: Uint8Array
  /** Called for each stream that the peer opens. The stream is accepted when this returns true and reset otherwise. */
  readonly onStream?: (stream: SpdyStream) => boolean
}

export class SpdyConnection {
  /** Resolves when the socket is closed, whichever side closed it. Never rejects. */
  readonly closed: Promise<void>
  readonly #socket: Duplex
  readonly #reader = new FrameReader()
  readonly #writer = new FrameWriter()
  readonly #streams = new Map<number, SpdyStream>()
  /** Streams whose buffers are full. While there is one, the socket is paused. */
  readonly #full = new Set<SpdyStream>()
  /** Callbacks of writers that wait for the socket to accept more. */
  #blocked: (() => void)[] = []
  readonly #onStream: (stream: SpdyStream) => boolean
  #nextId: number
  #lastPeerId = 0
  #goAwaySent = false
  #goAwayReceived = false
  #ended = false

  constructor({ socket, side, head, onStream = () => false }: SpdyConnectionOptions) {
    this.#socket = socket
    this.#onStream = onStream
    this.#nextId = side === "client" ? 1 : 2
    this.closed = new Promise((resolve) => {
      const end = () => {
        this.#end()
        resolve()
      }
      socket.once("close", end)
      if (socket.destroyed) end()
    })
    socket.on("error", () => socket.destroy()) // a broken connection ends its streams; nothing else needs to know
    socket.on("drain", () => this.#release())
    socket.on("end", () => {
      this.#end()
      socket.end()
    })
    // The bytes of the upgrade are read only after the caller had the chance to store the connection, as all later ones
    // are.
    if (head !== undefined && head.length > 0) socket.unshift(Buffer.from(head))
    socket.on("data", (chunk: Buffer) => this.#receive(chunk))
    socket.resume() // may have been paused for the hand-over
  }

  /** Opens a stream. It may be written to at once; the data is sent when the peer has replied. */
  open(headers: SpdyHeaders): SpdyStream {
    const id = this.#nextId
    this.#nextId += 2
    const stream = new SpdyStream(this, id, headers)
    if (this.#ended || this.#goAwayReceived || this.#goAwaySent) {
      stream.remoteReset()
      return stream
    }
    this.#streams.set(id, stream)
    this.#send({
      type: "synStream",
      streamId: id,
      associatedTo: 0,
      priority: 0,
      fin: false,
      unidirectional: false,
      headers,
    })
    return stream
  }

  /**
   * Tells the peer that no more streams are accepted, and closes the connection when both sides have ended the open
   * ones.
   */
  close(): void {
    if (this.#ended || this.#goAwaySent) return
    this.#goAwaySent = true
    this.#send({ type: "goAway", lastGoodStreamId: this.#lastPeerId, status: 0 })
    this.#closeIfDone()
  }

  /**
   * Sends a ping every `periodMs` until the connection has ended, so that what is between the two sides does not take it
   * for unused. Answers are not waited for. Source: apimachinery pkg/util/httpstream/spdy/connection.go sendPings.
   */
  keepAlive(clock: Clock, periodMs: number): void {
    let id = this.#nextId % 2
    const next = (): Timer =>
      clock.setTimeout(
        () => {
          this.#send({ type: "ping", id })
          id += 2
          timer = next()
        },
        periodMs,
        "upkeep",
      )
    let timer = next()
    void this.closed.then(() => timer.cancel())
  }

  /** Closes at once. */
  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Sends bytes of one stream. `done` is called when the socket accepts more, or at once when the connection has ended.
   */
  sendData(streamId: number, data: Buffer, fin: boolean, done: () => void): void {
    if (this.#ended) return done()
    let room = true
    this.#socket.cork()
    for (let at = 0; at === 0 || at < data.length; at += MAX_DATA) {
      const part = data.subarray(at, at + MAX_DATA)
      const last = at + MAX_DATA >= data.length
      room = this.#socket.write(this.#writer.dataHead(streamId, part.length, fin && last))
      if (part.length > 0) room = this.#socket.write(part)
    }
    this.#socket.uncork()
    // What `uncork` could send at once is not followed by another `drain`.
    if (room || !this.#socket.writableNeedDrain) done()
    else this.#blocked.push(done)
  }

  sendReset(streamId: number, status: number): void {
    this.#send({ type: "rstStream", streamId, status })
  }

  /** Removes a stream that neither side uses any more. */
  forget(stream: SpdyStream): void {
    if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id)
    this.setFull(stream, false)
    this.#closeIfDone()
  }

  setFull(stream: SpdyStream, full: boolean): void {
    const before = this.#full.size
    if (full) this.#full.add(stream)
    else this.#full.delete(stream)
    if (before === 0 && this.#full.size > 0) this.#socket.pause()
    if (before > 0 && this.#full.size === 0) this.#socket.resume()
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.read(chunk)) this.#handle(frame)
    } catch {
      // All frames share the state of header compression: after one that cannot be read, no other one can.
      this.#socket.destroy()
    }
  }

  #handle(frame: Frame): void {
    switch (frame.type) {
      case "synStream":
        return this.#accept(frame.streamId, frame.headers, frame.fin)
      case "synReply":
        this.#streams.get(frame.streamId)?.replied()
        if (frame.fin) this.#streams.get(frame.streamId)?.remoteEnd()
        return
      case "data": {
        const stream = this.#streams.get(frame.streamId)
        if (stream === undefined) return
        if (frame.data.length > 0) stream.receive(frame.data)
        if (frame.fin) stream.remoteEnd()
        return
      }
      case "headers":
        if (frame.fin) this.#streams.get(frame.streamId)?.remoteEnd()
        return
      case "rstStream":
        return this.#streams.get(frame.streamId)?.remoteReset()
      case "ping":
        // A ping's id of this side's parity is an answer; one of the other parity is a question, which is answered.
        if (frame.id % 2 !== this.#nextId % 2) this.#send(frame)
        return
      case "goAway":
        this.#goAwayReceived = true
        return this.#closeIfDone()
      case "settings":
      case "windowUpdate":
        return
    }
  }

  #accept(id: number, headers: SpdyHeaders, fin: boolean): void {
    if (this.#goAwaySent) return this.sendReset(id, RST.refusedStream)
    if (id % 2 === this.#nextId % 2 || id <= this.#lastPeerId) return this.sendReset(id, RST.protocolError)
    this.#lastPeerId = id
    if (this.#streams.size >= MOST_STREAMS) return this.sendReset(id, RST.refusedStream)
    const stream = new SpdyStream(this, id, headers)
    this.#streams.set(id, stream)
    if (!this.#onStream(stream)) {
      this.#streams.delete(id)
      return this.sendReset(id, RST.refusedStream)
    }
    this.#send({ type: "synReply", streamId: id, fin: false, headers: {} })
    stream.replied()
    if (fin) stream.remoteEnd()
  }

  #send(frame: Frame): void {
    if (!this.#ended && this.#socket.writable) this.#socket.write(this.#writer.write(frame))
  }

  #closeIfDone(): void {
    if (this.#streams.size === 0 && (this.#goAwaySent || this.#goAwayReceived) && !this.#ended) this.#socket.end()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const stream of [...this.#streams.values()]) stream.connectionEnd()
    this.#streams.clear()
    this.#release()
  }

  #release(): void {
    const blocked = this.#blocked
    this.#blocked = []
    for (const done of blocked) done()
  }
}

/** The largest data frame that is sent, in bytes, so that one stream does not block the others for long. */
const MAX_DATA = 64 * 1024
/**
 * How many streams there are at once; the peer's further ones are refused. A forwarded connection takes two of them,
 * and descriptors here, in the kubelet and in containerd. Upstream has no bound.
 */
export const MOST_STREAMS = 2000
