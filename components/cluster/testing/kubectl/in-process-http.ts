/** HTTP between a client and the API server of this process: no sockets, and no bytes for heads. */
import { Buffer } from "node:buffer"
import type { OutgoingHttpHeaders } from "node:http"
import { type Duplex, PassThrough, Readable, Writable } from "node:stream"
import type { Connect, HttpRequest, HttpResponse } from "../../../../pkg/kubectl/environment/connect.ts"
import type { ServerAnswer, ServerRequest } from "../../../../pkg/runtime/http/server-request.ts"
import type { Server } from "../../../apiserver/server.ts"
import { duplexPair } from "./duplex-pair.ts"

/** A request whose body is there. */
class Request extends Readable implements ServerRequest {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly rawHeaders: readonly string[]
  // Bodies of HTTP/2 have no chunks, so that nothing is written to a socket, which there is not.
  readonly httpVersion: string
  readonly httpVersionMajor: number
  readonly complete = true
  readonly socket = {}

  constructor(parts: {
    readonly method: string
    readonly url: string
    readonly headers: readonly (readonly [string, string])[]
    readonly body?: string | Uint8Array | undefined
    readonly version: "1.1" | "2.0"
  }) {
    super({ read: () => undefined })
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
class Answer extends Writable implements ServerAnswer {
  statusCode = 200
  headersSent = false
  readonly #fields: Record<string, string | string[]> = {}
  readonly #body = new PassThrough()
  readonly #begun: (response: HttpResponse) => void

  constructor(begun: (response: HttpResponse) => void) {
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

/** Sends requests to the server that `server` returns, which may be another one after a restart. */
export const inProcessConnect = (server: () => Server): Connect => ({
  send: (request) => send(server, request),
  dial: () => {
    const [client, other] = duplexPair()
    void readUpgrade(server, other)
    return Promise.resolve(client)
  },
})

const pairsOf = (headers: HttpRequest["headers"]): readonly (readonly [string, string])[] =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => [name, each] as const))

function send(server: () => Server, { method, url, headers, body, signal }: HttpRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const answer = new Answer(resolve)
    answer.once("close", () => reject(new Error("EOF")))
    const abort = () => {
      reject(signal!.reason as Error)
      answer.destroy(signal!.reason as Error)
    }
    if (signal?.aborted === true) return abort()
    signal?.addEventListener("abort", abort, { once: true })
    answer.once("close", () => signal?.removeEventListener("abort", abort))
    try {
      const own = [
        ["host", url.host],
        ...(body === undefined ? [] : [["content-length", String(Buffer.byteLength(body))]]),
      ] as [string, string][]
      const path = url.pathname + url.search
      server().onRequest(
        new Request({ method, url: path, headers: [...pairsOf(headers), ...own], body, version: "2.0" }),
        answer,
      )
    } catch {
      // As if nothing listened.
      reject(new Error(`dial tcp ${url.host}: connect: connection refused`))
    }
  })
}

/** Reads the head of a request for another protocol, and hands the connection to the server. */
async function readUpgrade(server: () => Server, socket: Duplex): Promise<void> {
  let bytes: Buffer = Buffer.alloc(0)
  const end = await new Promise<number>((resolve) => {
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const at = bytes.indexOf("\r\n\r\n")
      if (at === -1) return
      socket.pause()
      socket.off("data", onData)
      resolve(at)
    }
    socket.on("data", onData)
  })
  const [line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const [method = "", url = ""] = line.split(" ")
  const headers = lines.map(
    (each) => [each.slice(0, each.indexOf(":")).trim(), each.slice(each.indexOf(":") + 1).trim()] as const,
  )
  try {
    server().onUpgrade(new Request({ method, url, headers, version: "1.1" }), socket, bytes.subarray(end + 4))
  } catch {
    socket.destroy()
  }
}
