/**
 * A SPDY/3.1 connection over any duplex byte stream, either side of it. Sources: spdy-protocol-draft3-1;
 * moby/spdystream (connection.go, stream.go), which
 *  is what every Kubernetes client and container runtime speaks with.
 *
 *  What the peers really do, and so does this:
 *  - Flow control windows are neither kept nor announced: spdystream ignores WINDOW_UPDATE, and who waited for one
 *    would wait for ever. Back-pressure is TCP's:
 *    when a stream's reader is slow, the whole connection is read no further.
 *  - spdystream drops data that arrives before the SYN_REPLY. So streams opened here hold their data until the reply is
 *    there.
 *  - The end of the connection ends the streams like a half close does; what had arrived is still read. */
import type { Duplex } from "node:stream"
import { type Frame, FrameReader, FrameWriter, RST } from "./frames.ts"
import type { SpdyHeaders } from "./headers.ts"
import { SpdyStream } from "./stream.ts"

export interface SpdyConnectionOptions {
  /** The socket after the upgrade. It is owned by the connection from here on. */
  readonly socket: Duplex
  readonly side: "server" | "client"
  /** Bytes that came with the upgrade. */
  readonly head?: Uint8Array
  /** Called for each stream the peer opens. It is accepted when this returns true and reset otherwise. */
  readonly onStream?: (stream: SpdyStream) => boolean
}

export class SpdyConnection {
  /** Resolves when the socket is closed, whichever side closed it. Never rejects. */
  readonly closed: Promise<void>
  readonly #socket: Duplex
  readonly #reader = new FrameReader()
  readonly #writer = new FrameWriter()
  readonly #streams = new Map<number, SpdyStream>()
  /** Streams whose readers are behind. While there is one the socket is paused. */
  readonly #full = new Set<SpdyStream>()
  /** Writers that wait for the socket to take more. */
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
    socket.on("error", () => socket.destroy()) // a cut connection ends its streams; there is nobody else to tell
    socket.on("drain", () => this.#release())
    socket.on("end", () => {
      this.#end()
      socket.end()
    })
    // Bytes of the upgrade are read when the caller has had its turn to keep the connection, as all later ones are.
    if (head !== undefined && head.length > 0) socket.unshift(Buffer.from(head))
    socket.on("data", (chunk: Buffer) => this.#receive(chunk))
    socket.resume() // it may have been paused for the hand-over
  }

  /** Opens a stream. It may be written to at once; the data leaves when the peer has replied. */
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

  /** Tells the peer that no more streams come, and closes when the open ones are done (both sides). */
  close(): void {
    if (this.#ended || this.#goAwaySent) return
    this.#goAwaySent = true
    this.#send({ type: "goAway", lastGoodStreamId: this.#lastPeerId, status: 0 })
    this.#closeIfDone()
  }

  /** Closes at once. */
  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Bytes of one stream. `done` is called when the socket takes more, or at once when the connection is over: there is
   * nobody to tell.
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
    if (room) done()
    else this.#blocked.push(done)
  }

  sendReset(streamId: number, status: number): void {
    this.#send({ type: "rstStream", streamId, status })
  }

  /** A stream that neither side uses any more. */
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
      // Header compression is shared by all frames: after one that cannot be read none can.
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
        // Each side numbers its own: an id of the other's parity asks, one of ours answers.
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

/** Data frames are cut to this, so that one stream does not hold up the others for long. */
const MAX_DATA = 64 * 1024
