import type { Field, Framing, ResponseHead } from "./head.ts"
import type { Origin } from "./fields.ts"

/** A request of a client, over either version of HTTP. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly authority: string
  readonly host: string
  readonly fields: readonly Field[]
  readonly framing: Framing
  readonly upgrade: string | undefined
  readonly version: "HTTP/1.0" | "HTTP/1.1" | "HTTP/2"
  readonly origin: Origin
}

/** A response to a client, with its final fields. */
export type Answer = Pick<ResponseHead, "status" | "reason" | "fields" | "framing">

/** The client's side of an exchange. */
export interface Downstream {
  /**
   * Sets whether parts of the request's body are passed to `data` and `bodyEnd` of the exchange. At first they are not.
   */
  receive(wanted: boolean): void
  /** After status 101 all bytes belong to the upgraded protocol. */
  respond(answer: Answer): void
  write(chunk: Buffer): void
  /** Ends the response and sends all of it; after an upgrade: the backend sends nothing more. */
  end(trailers: readonly Field[]): void
  /** Sends what has been written. Returns false when the client is slow; `drained` of the exchange is called later. */
  flush(): boolean
  /** Breaks off the response, so that the client sees that it is incomplete. */
  abort(): void
}

/** A request for a backend, with its final fields except Host and those that frame the body. */
export interface OutgoingRequest {
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly fields: readonly Field[]
  readonly framing: Framing
  readonly upgrade: string | undefined
  readonly isSecure: boolean
}

/** Events of a backend's side. */
export interface UpstreamHandlers {
  head(head: ResponseHead): void
  data(chunk: Buffer): void
  end(trailers: readonly Field[]): void
  /** All data that arrived together was passed on. */
  flush(): void
  /** More of the request may be written. */
  drained(): void
  /** The request failed; no more events follow. */
  failed(reason: string): void
}

/** The backend's side of an exchange: a connection, or a stream of one. */
export interface Upstream {
  /** Whether it has handled another request, so that the backend may have just closed it. */
  readonly isReused: boolean
  /** Sends the head, at the latest with `flush`. */
  send(request: OutgoingRequest, handlers: UpstreamHandlers): void
  flush(): void
  /** Returns false when the backend is slow; `drained` is called later. */
  write(chunk: Buffer): boolean
  end(trailers: readonly Field[]): void
  receive(wanted: boolean): void
  /** Cancels the exchange; no event follows. Does nothing after both messages have ended. */
  abort(): void
}

/** The address of a backend. */
export interface Endpoint {
  readonly address: string
  readonly port: number
  /** Address and port as one text. */
  readonly key: string
}

/** The protocol of a backend: HTTP/1.1 without and with TLS, HTTP/2 without (h2c) and with TLS (h2). */
export type BackendProtocol = "http1" | "https1" | "h2c" | "h2"

/** Whether the message may have a body with any bytes, according to its head. */
export const hasBody = (framing: Framing): boolean =>
  framing.kind !== "none" && !(framing.kind === "length" && framing.length === 0)

export interface Connector {
  /**
   * Calls `connected` with a connection, or with the reason why there is none; perhaps before it returns. With
   * `isFresh` no connection is reused. Returns a function that cancels this.
   */
  connect(
    endpoint: Endpoint,
    protocol: BackendProtocol,
    isFresh: boolean,
    connected: (result: Upstream | Error) => void,
  ): () => void
}
