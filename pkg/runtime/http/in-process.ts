/** HTTP within a process: requests and answers of a server without a socket, and without bytes for heads. */
import { Buffer } from "node:buffer"
import type { OutgoingHttpHeaders } from "node:http"
import { PassThrough, Readable, Writable } from "node:stream"
import type { ServerAnswer, ServerRequest } from "./server-request.ts"

/** An answer as its client sees it. */
export interface InProcessResponse {
  readonly status: number
  /** Names in lower case. Several values are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
  readonly protocol: string
  readonly body: AsyncIterable<Uint8Array>
  /** Gives up the rest of the body. */
  cancel(): void
}

/** A request whose body is there. */
export class InProcessRequest extends Readable implements ServerRequest {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly rawHeaders: readonly string[]
  // Bodies of HTTP/2 have no chunks, so that nothing is written to a socket, which there is not.
  readonly httpVersion: string
  readonly httpVersionMajor: number
  readonly complete = true
  readonly socket: object

  constructor(parts: {
    readonly method: string
    readonly url: string
    readonly headers: readonly (readonly [string, string])[]
    readonly body?: string | Uint8Array | undefined
    readonly version: "1.1" | "2.0"
    /** The connection by which the client is known, if it has one. */
    readonly socket?: object
  }) {
    super({ read: () => undefined })
    this.socket = parts.socket ?? {}
    this.method = parts.method
    this.url = parts.url
    this.headers = {}
    for (const [name, value] of parts.headers) {
      const key = name.toLowerCase()
      this.headers[key] = key in this.headers ? `${this.headers[key]!}, ${value}` : value
    }
    this.rawHeaders = parts.headers.flat()
    this.httpVersion = parts.version
    this.httpVersionMajor = Number(parts.version[0])
    if (parts.body !== undefined && parts.body.length > 0) this.push(Buffer.from(parts.body as string))
    this.push(null)
  }
}

/** An answer that is read in this process. */
export class InProcessAnswer extends Writable implements ServerAnswer {
  statusCode = 200
  headersSent = false
  readonly #fields: Record<string, string | string[]> = {}
  readonly #body = new PassThrough()
  readonly #begun: (response: InProcessResponse) => void

  constructor(begun: (response: InProcessResponse) => void) {
    super()
    this.#begun = begun
    this.#body.on("error", () => undefined)
    // A client that has read enough closes the body.
    this.#body.once("close", () => this.destroy())
    this.on("error", () => undefined)
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    this.#fields[name.toLowerCase()] = typeof value === "object" ? [...value] : String(value)
    return this
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value)
    this.headersSent = true
    this.#begun({
      status,
      headers: Object.fromEntries(
        Object.entries(this.#fields).map(([name, value]) => [
          name,
          typeof value === "string" ? value : value.join(", "),
        ]),
      ),
      warnings: [this.#fields["warning"] ?? []].flat(),
      protocol: "HTTP/2.0",
      body: this.#body,
      cancel: () => void this.#body.destroy(),
    })
    return this
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    if (!this.headersSent) this.writeHead(this.statusCode)
    if (chunk.length === 0 || this.#body.write(chunk)) return done()
    this.#body.once("drain", () => done())
  }

  override _final(done: () => void): void {
    if (!this.headersSent) this.writeHead(this.statusCode)
    this.#body.end()
    done()
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    if (!this.#body.writableEnded) this.#body.destroy(err ?? new Error("unexpected EOF"))
    done(err)
  }
}
