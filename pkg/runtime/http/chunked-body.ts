/** A way past the HTTP layers for bodies without end, so that one event can go to thousands of connections. */
import type { ServerResponse } from "node:http"
import { DirectSocket } from "./direct-socket.ts"
import type { ServerAnswer, ServerRequest } from "./server-request.ts"

/** Bytes, given in parts, as a chunk of an HTTP/1.1 body. Source: RFC 9112, 7.1. */
export function chunkOf(parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), ...parts, CRLF])
}
const CRLF = Buffer.from("\r\n")

/**
 * The connection of a body that has begun (its head is sent, without a length), for ready-made chunks. Undefined over
 * HTTP/2 and 1.0, which have no chunks.
 */
export function chunkedBody({ httpVersion }: ServerRequest, res: ServerAnswer): DirectSocket | undefined {
  const { socket } = res as ServerResponse
  return httpVersion !== "1.1" || socket === null || res.destroyed ? undefined : new DirectSocket(socket)
}
