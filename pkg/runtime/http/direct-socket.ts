/** A way past the stream of a socket, whose bookkeeping costs as much again as TLS. */
import type { Socket } from "node:net"

/**
 * What is beneath a stream of `node:net` and `node:tls` in Bun: takes what the kernel takes at once, and tells how much
 * that was.
 */
interface NativeSocket {
  write(bytes: Uint8Array): number
}

/**
 * Writes to a socket: straight into the kernel where nothing waits before the bytes. What the kernel does not take goes
 * the usual way. Nobody else may write to the socket meanwhile.
 */
export class DirectSocket {
  readonly #socket: Socket
  #native: NativeSocket | undefined
  /** Nothing waits in the stream. */
  #free = false
  constructor(socket: Socket) {
    this.#socket = socket
    this.#native = nativeOf(socket)
  }

  /** Gives the number of bytes that wait for the other side to read. The bytes must not change afterwards. */
  write(bytes: Uint8Array): number {
    if (this.#native !== undefined && (this.#free || this.#drained())) {
      const written = this.#native.write(bytes)
      if (written === bytes.length) return 0
      this.#free = false
      // TLS may hold a part of what it tells as not written: it must get the same bytes again, and does from the
      // stream.
      this.#socket.write(written > 0 ? bytes.subarray(written) : bytes)
    } else this.#socket.write(bytes)
    return this.#socket.writableLength
  }

  /** The socket has been connected, which gives it what is beneath. */
  connected(): void {
    this.#native = nativeOf(this.#socket)
  }

  #drained(): boolean {
    return (this.#free = this.#socket.writableLength === 0 && this.#socket.writable)
  }
}

/** Undocumented, so that it may be missing: then the stream is written to. */
function nativeOf(socket: Socket): NativeSocket | undefined {
  const { _handle } = socket as Socket & { readonly _handle?: Partial<NativeSocket> | null }
  return typeof _handle?.write === "function" ? (_handle as NativeSocket) : undefined
}
