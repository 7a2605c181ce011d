import type { Socket } from "node:net"
import type { Watchdog, Watched } from "./proxy/watchdog.ts"
import { orClose } from "../../pkg/failure/or-close.ts"

/**
 * Returns who takes over a connection, or the number of bytes that are needed to decide. It is more than the bytes that
 * are there, and has a bound.
 */
export type Decide = (bytes: Buffer) => ((socket: Socket) => void) | number

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
  #room: Buffer | undefined
  #length = 0
  #needed = 1

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

  #take(part: Buffer): void {
    const bytes = this.#gather(part)
    if (bytes.length < this.#needed) return
    const decided = this.#decide(bytes)
    if (typeof decided === "number") {
      this.#needed = decided
      return
    }
    this.#unwatch()
    this.#socket.pause()
    this.#socket.unshift(bytes)
    orClose(
      () => this.#socket.destroy(),
      () => decided(this.#socket),
    )
  }

  /** Returns all bytes so far. The room for them doubles, so that a client that sends single bytes costs linear time. */
  #gather(part: Buffer): Buffer {
    const start = this.#length
    this.#length += part.length
    if (this.#room === undefined) return (this.#room = part)
    if (this.#length > this.#room.length) {
      const larger = Buffer.allocUnsafe(2 * this.#length)
      this.#room.copy(larger, 0, 0, start)
      this.#room = larger
    }
    part.copy(this.#room, start)
    return this.#room.subarray(0, this.#length)
  }
}
