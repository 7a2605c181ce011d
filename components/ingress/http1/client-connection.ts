import type { Socket } from "node:net"
import type { OutgoingRequest, Upstream, UpstreamHandlers } from "../messages/messages.ts"
import type { Watched } from "../proxy/watchdog.ts"
import { BodyReader } from "./body-reader.ts"
import { parseResponseHead, type Field } from "../messages/head.ts"
import { fieldLines, Output } from "./output.ts"

const LONGEST_HEAD = 64 * 1024
const END_OF_HEAD = "\r\n\r\n"

/** A connection to a backend, which handles one request after another. */
export class ClientConnection implements Upstream, Watched {
  due = Infinity
  place = -1
  isReused = false
  readonly #socket: Socket
  readonly #output: Output
  readonly #released: (connection: ClientConnection) => void
  readonly #closed: (connection: ClientConnection) => void
  #request: OutgoingRequest | undefined
  #handlers: UpstreamHandlers | undefined
  /** The beginning of a head whose end has not arrived. */
  #head: Buffer | undefined
  #reader: BodyReader | undefined
  #requestComplete = false
  #keepAlive = false
  #isTunnel = false

  /** `released` is called when another request may be sent, `closed` when none can be. The socket is connected. */
  constructor(
    socket: Socket,
    released: (connection: ClientConnection) => void,
    closed: (connection: ClientConnection) => void,
  ) {
    this.#socket = socket
    this.#output = new Output(socket)
    this.#released = released
    this.#closed = closed
    socket.on("data", (bytes: Buffer) => this.#take(bytes))
    socket.on("drain", () => this.#handlers?.drained())
    socket.on("end", () => this.#ended())
    socket.on("close", () => {
      this.#closed(this)
      this.#fail("the endpoint closed the connection")
    })
  }

  /** Called when the socket has failed; `close` follows. */
  error(message: string): void {
    this.#fail(message)
  }

  send(request: OutgoingRequest, handlers: UpstreamHandlers): void {
    this.#request = request
    this.#handlers = handlers
    this.#requestComplete = false
    const { framing } = request
    const frame =
      framing.kind === "length"
        ? `Content-Length: ${framing.length}\r\n`
        : framing.kind === "chunked"
          ? "Transfer-Encoding: chunked\r\n"
          : ""
    const upgrade = request.upgrade === undefined ? "" : `Connection: Upgrade\r\nUpgrade: ${request.upgrade}\r\n`
    this.#output.head(
      `${request.method} ${request.target} HTTP/1.1\r\nHost: ${request.authority}\r\n` +
        `${fieldLines(request.fields)}${frame}${upgrade}\r\n`,
      framing.kind,
    )
  }

  flush(): void {
    this.#output.flush()
  }

  write(chunk: Buffer): boolean {
    this.#output.body(chunk)
    return this.#output.flush()
  }

  end(trailers: readonly Field[]): void {
    this.#requestComplete = true
    if (this.#isTunnel) return void this.#socket.end()
    this.#output.end(trailers)
    this.#output.flush()
  }

  receive(wanted: boolean): void {
    if (this.#handlers === undefined) return
    if (wanted) this.#socket.resume()
    else this.#socket.pause()
  }

  abort(): void {
    if (this.#handlers === undefined) return
    this.#handlers = undefined
    this.#socket.destroy()
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  /** Closes an unused connection. */
  close(): void {
    this.#socket.destroy()
  }

  overdue(): void {
    this.close()
  }

  #take(bytes: Buffer): void {
    // A backend that sends data without a request is not valid HTTP.
    if (this.#handlers === undefined) return this.close()
    try {
      let rest: Buffer | undefined = bytes
      while (rest !== undefined && this.#handlers !== undefined) rest = this.#next(rest)
      this.#handlers?.flush()
    } catch {
      this.#fail("the endpoint's response is invalid")
    }
  }

  /** Processes the bytes of one step, and returns those that remain for the next one. */
  #next(bytes: Buffer): Buffer | undefined {
    if (this.#isTunnel) {
      this.#handlers!.data(bytes)
      return undefined
    }
    if (this.#reader === undefined) return this.#readHead(bytes)
    const taken = this.#reader.take(bytes)
    // Bytes after the response belong to no request.
    if (taken < bytes.length) this.close()
    return undefined
  }

  #readHead(bytes: Buffer): Buffer | undefined {
    const known: Buffer = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes])
    const end = known.indexOf(END_OF_HEAD, Math.max(0, (this.#head?.length ?? 0) - END_OF_HEAD.length), "latin1")
    if (end < 0) {
      if (known.length > LONGEST_HEAD) throw new Error("the head of an answer is too long")
      this.#head = known
      return undefined
    }
    this.#head = undefined
    const head = parseResponseHead(known.toString("latin1", 0, end), this.#request!.method)
    const rest = end + END_OF_HEAD.length < known.length ? known.subarray(end + END_OF_HEAD.length) : undefined
    if (head.status === 101) {
      if (this.#request!.upgrade === undefined)
        throw new Error("the endpoint switched protocols without a request to do so")
      this.#isTunnel = true
      this.#handlers!.head(head)
      return rest
    }
    if (head.status < 200) return rest
    this.#keepAlive = head.keepAlive
    this.#handlers!.head(head)
    if (this.#handlers === undefined) return undefined
    this.#reader = new BodyReader(head.framing, {
      data: (chunk) => this.#handlers?.data(chunk),
      end: (trailers) => this.#complete(trailers),
    })
    this.#reader.begin()
    if (this.#isIdle && rest !== undefined) this.close()
    return this.#isIdle ? undefined : rest
  }

  get #isIdle(): boolean {
    return this.#handlers === undefined
  }

  #complete(trailers: readonly Field[]): void {
    const handlers = this.#handlers
    this.#handlers = undefined
    this.#reader = undefined
    handlers?.end(trailers)
    if (this.#keepAlive && this.#requestComplete && !this.#socket.destroyed) {
      this.isReused = true
      this.#socket.resume()
      this.#released(this)
    } else this.#socket.destroy()
  }

  #ended(): void {
    if (this.#isTunnel) this.#handlers?.end([])
    else if (this.#reader?.closed() !== true) this.#socket.destroy()
  }

  #fail(reason: string): void {
    const handlers = this.#handlers
    this.#handlers = undefined
    this.#socket.destroy()
    handlers?.failed(reason)
  }
}
