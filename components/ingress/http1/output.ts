import type { Socket } from "node:net"
import { DirectSocket } from "../../../pkg/runtime/http/direct-socket.ts"
import type { Field, Framing } from "../messages/head.ts"

/** Up to this size the parts of a message are joined, so that they are one write and few TLS records. */
const JOINED_BYTES = 64 * 1024
const CRLF = Buffer.from("\r\n")

/** Collects the parts of HTTP/1.1 messages, and writes them to a connection together. */
export class Output {
  readonly #socket: Socket
  readonly #direct: DirectSocket
  #parts: Buffer[] = []
  #bytes = 0
  #isChunked = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#direct = new DirectSocket(socket)
  }

  /** Begins a message; its parts are sent as chunks when the framing is chunked. */
  head(text: string, framing: Framing["kind"]): void {
    this.#isChunked = framing === "chunked"
    this.#push(Buffer.from(text, "latin1"))
  }

  body(chunk: Buffer): void {
    if (chunk.length === 0) return
    if (this.#isChunked) {
      this.#push(Buffer.from(`${chunk.length.toString(16)}\r\n`, "latin1"))
      this.#push(chunk)
      this.#push(CRLF)
    } else this.#push(chunk)
  }

  end(trailers: readonly Field[]): void {
    if (this.#isChunked) this.#push(Buffer.from(`0\r\n${fieldLines(trailers)}\r\n`, "latin1"))
    this.#isChunked = false
  }

  /** Writes everything. Returns false when the socket's buffer is full: its `drain` follows. */
  flush(): boolean {
    const parts = this.#parts
    if (parts.length > 0) {
      this.#parts = []
      if (parts.length === 1) this.#direct.write(parts[0]!)
      else if (this.#bytes <= JOINED_BYTES) this.#direct.write(Buffer.concat(parts, this.#bytes))
      else for (const part of parts) this.#direct.write(part)
      this.#bytes = 0
    }
    return !this.#socket.writableNeedDrain
  }

  #push(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#bytes += bytes.length
  }
}

/** Formats the fields of a head or a trailer. */
export function fieldLines(fields: readonly Field[]): string {
  let text = ""
  for (const { name, value } of fields) text += `${name}: ${value}\r\n`
  return text
}
