/** Writes to a socket without the stream of `node:net`, whose bookkeeping costs as much again as TLS. */
import type { Socket } from "node:net"
import { drained } from "./pass-on.ts"

/**
 * The object beneath a stream of `node:net` and `node:tls` in Bun. Its `write` hands the kernel what the kernel takes
 * at once, and returns how many bytes that was.
 */
interface NativeSocket {
  write(bytes: Uint8Array): number
}

/**
 * Writes to a socket: directly to the kernel when the stream's buffer is empty. The bytes that the kernel does not take
 * are written to the stream. Nothing else may write to the socket meanwhile.
 */
export class DirectSocket {
  readonly #socket: Socket
  #native: NativeSocket | undefined
  /** Whether the stream's buffer is known to be empty. */
  #free = false
  constructor(socket: Socket) {
    this.#socket = socket
    this.#native = nativeOf(socket)
  }

  /**
   * Writes bytes, which must not change afterwards. Returns the number of bytes that wait for the other side to read.
   */
  write(bytes: Uint8Array): number {
    if (this.#native !== undefined && (this.#free || this.#drained())) {
      const written = this.#native.write(bytes)
      if (written === bytes.length) return 0
      this.#free = false
      // TLS may hold a part of the bytes that it reports as not written. It must get the same bytes again, and gets
      // them from the stream.
      this.#socket.write(written > 0 ? bytes.subarray(written) : bytes)
    } else this.#socket.write(bytes)
    return this.#socket.writableLength
  }

  /**
   * Resolves when the other side has read what it was far behind with, or is gone; undefined when it is not far behind.
   */
  reading(): Promise<void> | undefined {
    // A stream that is not full says nothing when it is empty.
    return this.#socket.writableNeedDrain ? drained(this.#socket) : undefined
  }

  /** Called when the socket is connected: only then does it have the native socket. */
  connected(): void {
    this.#native = nativeOf(this.#socket)
  }

  #drained(): boolean {
    return (this.#free = this.#socket.writableLength === 0 && this.#socket.writable)
  }
}

/** Returns the native socket. That API is undocumented, so it may be absent: then the stream is written to. */
function nativeOf(socket: Socket): NativeSocket | undefined {
  const { _handle } = socket as Socket & { readonly _handle?: Partial<NativeSocket> | null }
  return typeof _handle?.write === "function" ? (_handle as NativeSocket) : undefined
}
