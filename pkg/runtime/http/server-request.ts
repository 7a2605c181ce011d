import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http"
import type { Readable, Writable } from "node:stream"

/** A request of either protocol version. Header names are in lower case. */
export interface ServerRequest extends Readable {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Name and value in turn, as they came; headers that came several times are kept apart here. */
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
  readonly httpVersionMajor: number
  /** Whether all of the body has come. */
  readonly complete: boolean
}

/** The answer to a `ServerRequest`. `close` is emitted when it is done with, also when the client goes away first. */
export interface ServerAnswer extends Writable {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string | number | readonly string[]): unknown
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown
}
