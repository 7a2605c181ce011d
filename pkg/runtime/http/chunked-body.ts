/**
 * Writes bodies of unlimited length without the HTTP layers, so that the bytes of one event can go to thousands of
 * connections.
 */
import type { ServerResponse } from "node:http"
import { DirectSocket } from "./direct-socket.ts"
import type { ServerAnswer, ServerRequest } from "./server-request.ts"

/** Returns `parts` together as one chunk of an HTTP/1.1 body. Source: RFC 9112, 7.1. */
export function chunkOf(parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), ...parts, CRLF])
}
const CRLF = Buffer.from("\r\n")

/**
 * Returns the connection of a response whose head is sent, without a length, so that prepared chunks can be written to
 * it. Undefined for HTTP/2 and HTTP/1.0, which have no chunks.
 */
export function chunkedBody({ httpVersion }: ServerRequest, res: ServerAnswer): DirectSocket | undefined {
  const { socket } = res as ServerResponse
  return httpVersion !== "1.1" || socket === null || res.destroyed ? undefined : new DirectSocket(socket)
}
