import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http"
import type { Readable, Writable } from "node:stream"

/** A request over HTTP/1.1 or HTTP/2. Header names are in lower case. */
export interface ServerRequest extends Readable {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Header names and values in turn, as received. A header that was sent several times is there several times. */
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
  readonly httpVersionMajor: number
  /** Whether the whole body has arrived. */
  readonly complete: boolean
}

/** The response to a `ServerRequest`. `close` is emitted when it is complete, and when the client goes away first. */
export interface ServerAnswer extends Writable {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string | number | readonly string[]): unknown
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown
}
