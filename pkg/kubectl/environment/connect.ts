import type { Duplex } from "node:stream"

/** How a server is trusted, and how it knows the client. All texts are PEM. */
export interface TlsOptions {
  /** The authorities that may have signed the server's certificate; undefined: those of the system. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly insecureSkipVerify?: boolean
  /** The name that the server's certificate must be for, where it is not that of the address. */
  readonly serverName?: string
}

export interface HttpRequest {
  readonly method: string
  readonly url: URL
  /** Names in the form in which they are sent. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** A body that is sent as it comes, instead of `body`. */
  readonly parts?: AsyncIterable<Uint8Array>
  readonly tls: TlsOptions
  /** The proxy to connect through: `http:`, `https:` or `socks5:`. */
  readonly proxy?: URL
  readonly signal?: AbortSignal
  /** Whether a body that breaks off is of no use: nothing of it is read before all of it is there. */
  readonly isWhole?: boolean
}

export interface HttpResponse {
  readonly status: number
  /** Names in lower case. Several values are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers `Warning`, of which one may hold several warnings. */
  readonly warnings: readonly string[]
  /** The protocol that was spoken: `HTTP/2.0`. */
  readonly protocol: string
  readonly body: AsyncIterable<Uint8Array>
  /** Gives up the rest of the body. */
  cancel(): void
}

/** Rejects with an error in Go's words: `dial tcp 127.0.0.1:6443: connect: connection refused`. */
export interface Connect {
  send(request: HttpRequest): Promise<HttpResponse>
  /** Opens the connection that a request with an upgrade (exec, attach, port-forward) will take over. */
  dial(request: Pick<HttpRequest, "url" | "tls" | "proxy" | "signal">): Promise<Duplex>
}
