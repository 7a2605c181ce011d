import {
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2"
import {
  hostOf,
  isAuthority,
  isTarget,
  isToken,
  isValue,
  withoutSpace,
  type Field,
  type Framing,
} from "../messages/head.ts"
import { LONGEST_HEAD, PLAIN_HEAD, type HeadRoom } from "../long-heads.ts"
import type { Exchange } from "../proxy/exchange.ts"
import type { Origin } from "../messages/fields.ts"
import type { Answer, Downstream, IncomingRequest } from "../messages/messages.ts"

export interface StreamParts {
  readonly begin: (request: IncomingRequest, client: Downstream) => Exchange
  readonly refused: (status: number) => void
  readonly roomOf: (origin: Origin) => HeadRoom
}

/** Begins the exchange of a request on a stream. */
export function serveStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  origin: Origin,
  { begin, refused, roomOf }: StreamParts,
): void {
  // A client that resets its stream is not an error; `close` reports it.
  stream.on("error", () => undefined)
  const request = requestOf(stream, headers, origin)
  if (request === undefined) {
    refused(400)
    stream.respond({ ":status": 400 }, { endStream: true })
    stream.close(constants.NGHTTP2_PROTOCOL_ERROR)
    return
  }
  const length = request.fields.reduce(
    (sum, { name, value }) => sum + name.length + value.length,
    request.target.length,
  )
  if (length > PLAIN_HEAD) {
    const room = roomOf(origin)
    if (length > LONGEST_HEAD || !room.grow(length)) {
      refused(431)
      stream.respond({ ":status": 431 }, { endStream: true })
      return
    }
    stream.once("close", () => room.release())
  }
  const client = new ServerStream(stream, request.framing)
  client.exchange = begin(request, client)
  client.exchange.start()
}

/**
 * Returns undefined for a request that an HTTP/1.1 backend could interpret differently. Source: RFC 9113, 8.2 and 8.3.
 */
function requestOf(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  origin: Origin,
): IncomingRequest | undefined {
  const { ":method": method, ":path": target = "", ":authority": named, host } = headers
  const authority = named ?? host ?? ""
  if (typeof method !== "string" || !isToken(method) || method === "CONNECT") return undefined
  if (!(target.startsWith("/") ? isTarget(target) : target === "*" && method === "OPTIONS")) return undefined
  if (!isAuthority(authority)) return undefined
  if (named !== undefined && host !== undefined && named !== host) return undefined
  const fields: Field[] = []
  for (const [key, value] of Object.entries(headers)) {
    if (key.startsWith(":") || value === undefined) continue
    if (!isToken(key)) return undefined
    for (const each of Array.isArray(value) ? value : [value]) {
      if (!isValue(each) || each !== withoutSpace(each)) return undefined
      fields.push({ name: key, key, value: each })
    }
  }
  const framing = framingOf(stream, headers)
  if (framing === undefined || headers["transfer-encoding"] !== undefined) return undefined
  return {
    method,
    target,
    authority,
    host: hostOf(authority),
    fields,
    framing,
    upgrade: undefined,
    version: "HTTP/2",
    origin,
  }
}

function framingOf({ endAfterHeaders }: ServerHttp2Stream, headers: IncomingHttpHeaders): Framing | undefined {
  const length = headers["content-length"]
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return undefined
  if (endAfterHeaders) return Number(length ?? 0) === 0 ? { kind: "none" } : undefined
  return length === undefined ? { kind: "chunked" } : { kind: "length", length: Number(length) }
}

/** An HTTP/2 stream of a client. */
class ServerStream implements Downstream {
  exchange: Exchange | undefined
  readonly #stream: ServerHttp2Stream
  /** Bytes of the body that must still come, when a content-length was sent. */
  #left: number | undefined
  #listens = false
  #bodyEnded = false
  #needsDrain = false
  #trailers: readonly Field[] = []

  constructor(stream: ServerHttp2Stream, framing: Framing) {
    this.#stream = stream
    this.#left = framing.kind === "length" ? framing.length : undefined
    stream.on("drain", () => {
      this.#needsDrain = false
      this.exchange?.clientDrained()
    })
    stream.on("wantTrailers", () => sendTrailers(stream, this.#trailers))
    stream.on("close", () => {
      const exchange = this.exchange
      this.exchange = undefined
      exchange?.clientGone()
    })
  }

  receive(wanted: boolean): void {
    if (!wanted) return void this.#stream.pause()
    if (!this.#listens) this.#listen()
    this.#stream.resume()
  }

  respond({ status, fields, framing }: Answer): void {
    const headers = { ":status": status, ...headersOf(fields) }
    const options = framing.kind === "none" ? { endStream: true } : { waitForTrailers: framing.kind === "chunked" }
    try {
      this.#stream.respond(headers, options)
    } catch {
      this.#breakOff() // a status or a field that HTTP/2 cannot carry
    }
  }

  write(chunk: Buffer): void {
    if (!this.#stream.write(chunk)) this.#needsDrain = true
  }

  flush(): boolean {
    return !this.#needsDrain
  }

  end(trailers: readonly Field[]): void {
    this.#trailers = trailers
    this.exchange = undefined
    this.#stream.end()
    // The rest of the body is not needed. Source: RFC 9113, 8.1.
    if (!this.#bodyEnded && !this.#stream.endAfterHeaders) {
      if (this.#stream.writableFinished) this.#stream.close(constants.NGHTTP2_NO_ERROR)
      else this.#stream.once("finish", () => this.#stream.close(constants.NGHTTP2_NO_ERROR))
    }
  }

  abort(): void {
    this.exchange = undefined
    cutOff(this.#stream)
  }

  #listen(): void {
    const stream = this.#stream
    this.#listens = true
    let trailers: readonly Field[] = []
    stream.on("trailers", (headers: IncomingHttpHeaders) => (trailers = trailersOf(headers)))
    stream.on("data", (chunk: Buffer) => {
      if (this.#left !== undefined && (this.#left -= chunk.length) < 0) return this.#breakOff()
      this.exchange?.data(chunk)
    })
    stream.on("end", () => {
      // The stream of a body that the client broke off is destroyed here already, and "close" follows.
      if (stream.destroyed) return
      if (this.#left !== undefined && this.#left !== 0) return this.#breakOff()
      this.#bodyEnded = true
      this.exchange?.bodyEnd(trailers)
    })
  }

  /** Resets the stream, and ends its exchange. */
  #breakOff(): void {
    const exchange = this.exchange
    this.exchange = undefined
    cutOff(this.#stream)
    exchange?.clientGone()
  }
}

/**
 * Resets a stream. Bun's `close` with an error code first ends the message properly, so that the other side takes a
 * part for the whole; `destroy` with an error does not.
 */
export const cutOff = (stream: Http2Stream): void => void stream.destroy(new Error("the other side is gone"))

/** Sends trailers, or resets the stream when HTTP/2 cannot carry them. */
export function sendTrailers(stream: Http2Stream, trailers: readonly Field[]): void {
  try {
    stream.sendTrailers(headersOf(trailers))
  } catch {
    cutOff(stream)
  }
}

/**
 * Returns fields as an object. Fields with one name are joined to one value, as RFC 9110, 5.3 allows; `node:http2`
 * takes a list only for fields that it knows as lists.
 */
export function headersOf(fields: readonly Field[]): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  const cookies: string[] = []
  for (const { key, value } of fields) {
    const before = headers[key]
    if (key === "set-cookie") cookies.push(value)
    else headers[key] = typeof before === "string" ? `${before}${key === "cookie" ? "; " : ", "}${value}` : value
  }
  if (cookies.length > 0) headers["set-cookie"] = cookies
  return headers
}

/** Returns the fields that are allowed after a body. */
export const trailersOf = (headers: IncomingHttpHeaders): readonly Field[] =>
  Object.entries(headers).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value ?? ""]).flatMap((each) =>
      isToken(key) && isValue(each) ? { name: key, key, value: each } : [],
    ),
  )
