import type { Socket } from "node:net"
import type { Watchdog, Watched } from "./proxy/watchdog.ts"

/** Returns who takes over a connection, or undefined while more bytes are needed to decide. */
type Decide = (bytes: Buffer) => ((socket: Socket) => void) | undefined

/**
 * Reads the first bytes of a connection, puts them back, and passes the connection to the handler that `decide`
 * returns.
 */
export class FirstBytes implements Watched {
  due = Infinity
  place = -1
  readonly #socket: Socket
  readonly #decide: Decide
  readonly #unwatch: () => void
  #bytes: Buffer | undefined

  /** Closes the connection when `decide` returns no handler within `ms` milliseconds. */
  constructor(socket: Socket, watchdog: Watchdog, ms: number, decide: Decide) {
    this.#socket = socket
    this.#decide = decide
    watchdog.add(this, ms)
    const took = (bytes: Buffer) => this.#take(bytes)
    const ended = () => socket.destroy()
    const closed = () => watchdog.remove(this)
    socket.on("data", took).once("end", ended).once("close", closed)
    this.#unwatch = () => {
      watchdog.remove(this)
      socket.off("data", took).off("end", ended).off("close", closed)
    }
  }

  overdue(): void {
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes === undefined ? bytes : Buffer.concat([this.#bytes, bytes])
    const handOver = this.#decide(this.#bytes)
    if (handOver === undefined) return
    this.#unwatch()
    this.#socket.pause()
    this.#socket.unshift(this.#bytes)
    handOver(this.#socket)
  }
}
