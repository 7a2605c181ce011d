import type { Socket } from "node:net"
import type { Exchange } from "../proxy/exchange.ts"
import { reasonOf } from "../messages/reasons.ts"
import type { Origin } from "../messages/fields.ts"
import { hasBody, type Answer, type Downstream, type IncomingRequest } from "../messages/messages.ts"
import type { Watchdog, Watched } from "../proxy/watchdog.ts"
import { BodyReader } from "./body-reader.ts"
import { MalformedMessage, parseRequestHead, type Field, type Framing, type RequestHead } from "../messages/head.ts"
import { fieldLines, Output } from "./output.ts"
import { LONGEST_HEAD, type HeadRoom } from "../long-heads.ts"
import { GrowingInput } from "./growing-input.ts"
import { orClose } from "../../../pkg/failure/or-close.ts"

export interface ServerConnectionParts {
  readonly watchdog: Watchdog
  readonly limits: ServerLimits
  readonly begin: (request: IncomingRequest, client: Downstream) => Exchange
  /** A request was answered that is not understood. */
  readonly refused: (status: number) => void
  /** The part of the memory for long heads that this connection has. */
  readonly room: HeadRoom
  /** Whether connections end with the request that is under way. */
  readonly isStopping: () => boolean
}

/** Time limits in milliseconds. */
export interface ServerLimits {
  /** From the first byte of a request to the end of its head, and for the TLS handshake. */
  readonly headMs: number
  /** From the end of a response to the first byte of the next request. */
  readonly idleMs: number
  /** How long a client may read a response after which the connection is closed while the client is still sending. */
  readonly lingerMs: number
}

/** The most bytes that wait for the exchange; beyond it the connection is not read. */
const MOST_WAITING = 64 * 1024
/** After a response up to this many bytes of the request's body are read and dropped, to keep the connection. */
const MOST_DROPPED = 64 * 1024
const END_OF_HEAD = "\r\n\r\n"

/** A client's HTTP/1.1 connection, which carries one request after another. */
export class ServerConnection implements Downstream, Watched {
  due = Infinity
  place = -1
  readonly #socket: Socket
  readonly #origin: Origin
  readonly #parts: ServerConnectionParts
  readonly #output: Output
  /** Bytes that have arrived and were not used yet. */
  #input: Buffer | undefined
  readonly #growing = new GrowingInput()
  /** How much of the input was searched for the end of a head. */
  #searched = 0
  #request: RequestHead | undefined
  #exchange: Exchange | undefined
  #reader: BodyReader | undefined
  #isReceiving = false
  /** Whether the client waits for 100 Continue before it sends the body. */
  #isAwaited = false
  #isPaused = false
  #isAdvancing = false
  #keepAlive = false
  #state: "http" | "tunnel" | "closing" = "http"

  constructor(socket: Socket, origin: Origin, parts: ServerConnectionParts) {
    this.#socket = socket
    this.#origin = origin
    this.#parts = parts
    this.#output = new Output(socket)
    parts.watchdog.add(this, parts.limits.headMs)
    const close = () => void socket.destroy()
    socket.on("data", (bytes: Buffer) => orClose(close, () => this.#take(bytes)))
    socket.on("drain", () => this.#exchange?.clientDrained())
    socket.on("end", () => this.#ended())
    socket.on("close", () => {
      parts.watchdog.remove(this)
      parts.room.release()
      const exchange = this.#exchange
      this.#exchange = undefined
      exchange?.clientGone()
    })
  }

  /** Ends the connection when no request is in progress. */
  stop(): void {
    if (this.#exchange === undefined && this.#state === "http") this.#socket.destroy()
  }

  overdue(): void {
    const isInHead = this.#state === "http" && this.#exchange === undefined && this.#input !== undefined
    if (isInHead && this.#reader === undefined) this.#refuse(408, "the head of the request did not come in time")
    else this.#socket.destroy()
  }

  // ---- called by the exchange ----

  receive(wanted: boolean): void {
    this.#isReceiving = wanted
    if (!wanted) return
    if (this.#isAwaited && this.#input === undefined) {
      this.#output.head("HTTP/1.1 100 Continue\r\n\r\n", "none")
      this.#output.flush()
    }
    this.#isAwaited = false
    this.#advance()
  }

  respond({ status, reason, fields, framing }: Answer): void {
    const { minorVersion, keepAlive } = this.#request!
    const isUnframed = framing.kind === "chunked" || framing.kind === "close"
    const isChunked = isUnframed && minorVersion === 1
    let connection = ""
    if (status === 101) {
      this.#state = "tunnel"
      this.#reader = undefined
    } else {
      this.#keepAlive = keepAlive && (isChunked || !isUnframed) && this.#canDrop() && !this.#parts.isStopping()
      if (!this.#keepAlive) connection = "Connection: close\r\n"
    }
    this.#output.head(
      `HTTP/1.1 ${status} ${reason}\r\n${fieldLines(fields)}` +
        `${isChunked ? "Transfer-Encoding: chunked\r\n" : ""}${connection}\r\n`,
      isChunked ? "chunked" : "none",
    )
    if (status === 101) this.#output.flush()
  }

  write(chunk: Buffer): void {
    this.#output.body(chunk)
  }

  flush(): boolean {
    return this.#output.flush()
  }

  end(trailers: readonly Field[]): void {
    this.#output.end(trailers)
    this.#output.flush()
    if (this.#state === "tunnel") return void this.#socket.end()
    this.#exchange = undefined
    this.#request = undefined
    if (!this.#keepAlive) return this.#close()
    const { watchdog, limits, room } = this.#parts
    room.release()
    watchdog.expect(this, this.#reader === undefined && this.#input === undefined ? limits.idleMs : limits.headMs)
    this.#isReceiving = true
    this.#advance()
  }

  abort(): void {
    this.#exchange = undefined
    this.#socket.destroy()
  }

  // ---- called by the socket ----

  #take(bytes: Buffer): void {
    if (this.#state === "closing") return
    const isFirst = this.#input === undefined && this.#exchange === undefined && this.#reader === undefined
    if (isFirst) this.#parts.watchdog.expect(this, this.#parts.limits.headMs)
    this.#input = this.#input === undefined ? bytes : this.#growing.append(this.#input, bytes)
    this.#advance()
    const isHead = this.#exchange === undefined && this.#reader === undefined && this.#state === "http"
    if (!this.#isPaused && !isHead && (this.#input?.length ?? 0) > MOST_WAITING) {
      this.#isPaused = true
      this.#socket.pause()
    }
  }

  /** Processes the input as far as possible. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    try {
      while (this.#input !== undefined && this.#state !== "closing" && this.#step(this.#input));
    } catch (err) {
      if (!(err instanceof MalformedMessage)) throw err
      if (this.#exchange === undefined) this.#refuse(err.status, err.message)
      else {
        // The response may have begun, so both the backend and the client learn of the fault by the end of their
        // connections.
        const exchange = this.#exchange
        this.abort()
        exchange.clientGone()
      }
    } finally {
      this.#isAdvancing = false
    }
    if (this.#isPaused && (this.#input?.length ?? 0) <= MOST_WAITING) {
      this.#isPaused = false
      this.#socket.resume()
    }
  }

  /** Does one step with the input. Returns false when nothing can be done now. */
  #step(input: Buffer): boolean {
    if (this.#state === "tunnel") {
      if (!this.#isReceiving) return false
      this.#input = undefined
      this.#exchange?.data(input)
      return true
    }
    if (this.#reader !== undefined) {
      if (!this.#isReceiving) return false
      this.#input = undefined
      const taken = this.#reader.take(input)
      if (taken < input.length) this.#input = input.subarray(taken)
      return true
    }
    return this.#exchange === undefined && this.#begin(input)
  }

  #begin(input: Buffer): boolean {
    // Empty lines before a request are skipped. Source: RFC 9112, 2.2.
    if (this.#searched === 0 && input.length >= 2 && input[0] === 13 && input[1] === 10) {
      this.#input = input.length === 2 ? undefined : input.subarray(2)
      return true
    }
    const end = input.indexOf(END_OF_HEAD, Math.max(0, this.#searched - END_OF_HEAD.length), "latin1")
    const length = end < 0 ? input.length : end
    if (length > LONGEST_HEAD) throw new MalformedMessage(431, "the head of the request is too long")
    if (!this.#parts.room.grow(length)) throw new MalformedMessage(431, "too many requests have long heads now")
    if (end < 0) {
      this.#searched = input.length
      return false
    }
    this.#searched = 0
    const head = parseRequestHead(input.toString("latin1", 0, end))
    this.#input = end + END_OF_HEAD.length < input.length ? input.subarray(end + END_OF_HEAD.length) : undefined
    this.#request = head
    this.#isReceiving = false
    this.#parts.watchdog.expect(this, Infinity)
    const { framing } = head
    this.#isAwaited = head.expectsContinue && hasBody(framing)
    this.#reader = hasBody(framing) ? this.#readerOf(framing) : undefined
    const exchange = this.#parts.begin(
      { ...head, version: head.minorVersion === 1 ? "HTTP/1.1" : "HTTP/1.0", origin: this.#origin },
      this,
    )
    this.#exchange = exchange
    exchange.start()
    return true
  }

  #readerOf(framing: Framing): BodyReader {
    return new BodyReader(framing, {
      data: (chunk) => this.#exchange?.data(chunk),
      end: (trailers) => {
        this.#reader = undefined
        this.#exchange?.bodyEnd(trailers)
      },
    })
  }

  /** Whether little or nothing is left of the request's body. */
  #canDrop(): boolean {
    if (this.#reader === undefined) return true
    // A client that was not told to send its body may send another request instead.
    if (this.#isAwaited) return false
    const { framing } = this.#request!
    return framing.kind === "length" && framing.length <= MOST_DROPPED
  }

  #ended(): void {
    if (this.#state === "tunnel") this.#exchange?.bodyEnd([])
    else this.#socket.destroy()
  }

  #refuse(status: number, message: string): void {
    const body = `${message}\n`
    this.#parts.refused(status)
    this.#output.head(
      `HTTP/1.1 ${status} ${reasonOf(status)}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      "none",
    )
    this.#output.flush()
    this.#close()
  }

  /**
   * Closes the connection after the client had time to read the response: what it still sends is dropped, since a reset
   * would discard the response.
   */
  #close(): void {
    this.#state = "closing"
    this.#input = undefined
    this.#parts.watchdog.expect(this, this.#parts.limits.lingerMs)
    this.#socket.end()
    if (this.#isPaused) this.#socket.resume()
  }
}
