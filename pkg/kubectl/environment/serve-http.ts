import type { Duplex } from "node:stream"
import type { ServerAnswer, ServerRequest } from "../../runtime/http/server-request.ts"

/** What answers the requests of a server of HTTP/1.1. */
export interface HttpHandler {
  request(request: ServerRequest, answer: ServerAnswer): void
  /** A request for another protocol. The function owns the connection from then on. */
  upgrade(request: ServerRequest, connection: Duplex, head: Uint8Array): void
}

/** Where a server of HTTP listens. Port 0 is a free one, and an empty host all addresses. */
export type HttpPlace = { readonly host: string; readonly port: number } | { readonly socketPath: string }

/**
 * Serves HTTP until the run ends, and resolves with the address in Go's form: `127.0.0.1:8001`. Rejects in Go's words:
 * `listen tcp 127.0.0.1:80: bind: permission denied`.
 */
export type ServeHttp = (place: HttpPlace, handler: HttpHandler) => Promise<{ readonly address: string; close(): void }>
