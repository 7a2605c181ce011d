/** A way past the HTTP layers for bodies without end, so that one event can go to thousands of connections. */
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { ServerAnswer, ServerRequest } from "./listen.ts"

/** Bytes, given in parts, as a chunk of an HTTP/1.1 body. Source: RFC 9112, 7.1. */
export function chunkOf(parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), ...parts, CRLF])
}
const CRLF = Buffer.from("\r\n")

/**
 * What is beneath a stream of `node:net` and `node:tls` in Bun: takes what the kernel takes at once, and tells how much
 * that was.
 */
interface NativeSocket {
  write(bytes: Uint8Array): number
}

/**
 * A connection that takes ready-made chunks (`chunkOf`). They go straight into the kernel where nothing waits before
 * them: the stream's own bookkeeping costs as much again as TLS. What the kernel does not take goes the usual way.
 */
export class ChunkedBody {
  readonly #socket: Socket
  readonly #native: NativeSocket | undefined
  /** Nothing waits in the stream, and nobody else writes to it before the answer's end. */
  #free = false
  constructor(socket: Socket) {
    this.#socket = socket
    this.#native = nativeOf(socket)
  }

  /** Gives the number of bytes that wait for the client to read. The bytes must not change afterwards. */
  write(chunk: Uint8Array): number {
    if (this.#native !== undefined && (this.#free || this.#drained())) {
      const written = this.#native.write(chunk)
      if (written === chunk.length) return 0
      this.#free = false
      // TLS may hold a part of what it tells as not written: it must get the same bytes again, and does from the
      // stream.
      this.#socket.write(written > 0 ? chunk.subarray(written) : chunk)
    } else this.#socket.write(chunk)
    return this.#socket.writableLength
  }

  #drained(): boolean {
    return (this.#free = this.#socket.writableLength === 0 && this.#socket.writable)
  }
}

/**
 * The connection of a body that has begun (its head is sent, without a length). Undefined over HTTP/2 and 1.0, which
 * have no chunks.
 */
export function chunkedBody({ httpVersion }: ServerRequest, res: ServerAnswer): ChunkedBody | undefined {
  const { socket } = res as ServerResponse
  return httpVersion !== "1.1" || socket === null || res.destroyed ? undefined : new ChunkedBody(socket)
}

/** Undocumented, so that it may be missing: then the stream is written to. */
function nativeOf(socket: Socket): NativeSocket | undefined {
  const { _handle } = socket as Socket & { readonly _handle?: Partial<NativeSocket> | null }
  return typeof _handle?.write === "function" ? (_handle as NativeSocket) : undefined
}
