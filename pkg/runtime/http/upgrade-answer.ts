import { STATUS_CODES, type OutgoingHttpHeaders } from "node:http"
import { Writable, type Duplex } from "node:stream"
import type { ServerAnswer } from "./server-request.ts"

/**
 * The response to an upgrade request that is refused: plain HTTP/1.1 on the raw socket, which is then closed. When the
 * upgrade succeeds, its handler owns the socket and this is never written to.
 */
export class UpgradeAnswer extends Writable implements ServerAnswer {
  statusCode = 200
  headersSent = false
  /** Called with the status when the head of the response is sent. */
  onHead: ((status: number) => void) | undefined
  readonly #socket: Duplex
  readonly #fields: OutgoingHttpHeaders = {}
  constructor(socket: Duplex) {
    super()
    this.#socket = socket
    // A client that is gone needs no response. Its absence may show on the socket or in the callback of a write.
    this.on("error", () => {})
    socket.on("error", () => this.destroy())
    socket.once("close", () => this.destroy())
  }

  /** Sets the status to 101, for the log and the metrics: the socket now carries another protocol. */
  upgraded(): void {
    this.statusCode = 101
    this.headersSent = true
    this.onHead?.(101)
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    this.#fields[name] = typeof value === "object" ? [...value] : value
    return this
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    this.headersSent = true
    const lines = Object.entries({ ...this.#fields, ...headers, Connection: "close" }).flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
    )
    this.#socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`)
    this.onHead?.(status)
    return this
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#socket.write(chunk, callback)
  }

  override _final(callback: () => void): void {
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy()
    callback(error)
  }
}
