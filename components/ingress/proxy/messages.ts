import type { Field, Framing, ResponseHead } from "../http1/head.ts"
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

/** An answer to a client; the fields are those that it is sent. */
export type Answer = Pick<ResponseHead, "status" | "reason" | "fields" | "framing">

/** The client's side of an exchange. */
export interface Downstream {
  /** Whether parts of the request's body may come, to `data` and `bodyEnd` of the exchange. At first none may. */
  receive(wanted: boolean): void
  /** With status 101 all bytes that follow belong to the upgraded protocol. */
  respond(answer: Answer): void
  write(chunk: Buffer): void
  /** Ends the answer and sends all of it; after an upgrade: nothing more comes from the backend. */
  end(trailers: readonly Field[]): void
  /** Sends what has been written. False when the client is behind; `drained` of the exchange is called after that. */
  flush(): boolean
  /** Breaks the answer off, so that the client sees that it is not complete. */
  abort(): void
}

/** A request for a backend. The fields are those that it is sent, without Host and what frames the body. */
export interface OutgoingRequest {
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly fields: readonly Field[]
  readonly framing: Framing
  readonly upgrade: string | undefined
  readonly isSecure: boolean
}

/** What a backend's side tells. */
export interface UpstreamHandlers {
  head(head: ResponseHead): void
  data(chunk: Buffer): void
  end(trailers: readonly Field[]): void
  /** All that came at once has been told. */
  flush(): void
  /** More of the request may be written. */
  drained(): void
  /** Nothing more comes. */
  failed(reason: string): void
}

/** The backend's side of an exchange: a connection, or a stream of one. */
export interface Upstream {
  /** It has served another request: the backend may have closed it in the same moment. */
  readonly isReused: boolean
  /** Sends the head, with `flush` at the latest. */
  send(request: OutgoingRequest, handlers: UpstreamHandlers): void
  flush(): void
  /** False when the backend is behind; `drained` is called after that. */
  write(chunk: Buffer): boolean
  end(trailers: readonly Field[]): void
  receive(wanted: boolean): void
  /** Gives the exchange up; no handler is called any more. Does nothing after the end of both messages. */
  abort(): void
}

/** The address of a backend. */
export interface Endpoint {
  readonly address: string
  readonly port: number
  /** Both, as one text. */
  readonly key: string
}

/** How a backend is spoken to: in HTTP/1.1, in HTTP/1.1 over TLS, or in HTTP/2 without TLS. */
export type BackendProtocol = "http1" | "https1" | "h2c"

/** Whether the message has a body with any bytes, as far as its head tells. */
export const hasBody = (framing: Framing): boolean =>
  framing.kind !== "none" && !(framing.kind === "length" && framing.length === 0)

export interface Connector {
  /**
   * Gives a connection to `connected`, or why there is none, perhaps before it returns. `isFresh`: not one that may
   * just be closed. The result gives up.
   */
  connect(
    endpoint: Endpoint,
    protocol: BackendProtocol,
    isFresh: boolean,
    connected: (result: Upstream | Error) => void,
  ): () => void
}
