import { Duplex } from "node:stream"
import { RST } from "./frames.ts"
import type { SpdyHeaders } from "./headers.ts"

/** The connection that carries a stream. */
interface Carrier {
  sendData(streamId: number, data: Buffer, fin: boolean, done: () => void): void
  sendReset(streamId: number, status: number): void
  /** Removes a stream that has ended on both sides. */
  forget(stream: SpdyStream): void
  /** Stops reading from the socket while the buffer of any stream is full. */
  setFull(stream: SpdyStream, full: boolean): void
}

/**
 * One stream of a SPDY connection. `end()` closes this side only; reading ends when the peer closes its own.
 * `destroy()` resets the stream.
 *
 * The stream emits no errors: after a reset by the peer and after the end of the connection, reading ends and written
 * data is dropped. A sender that must know of it awaits `gone`, or the connection's `closed`.
 */
export class SpdyStream extends Duplex {
  /**
   * Resolves when the peer reads no more: it has reset the stream, or the connection has ended. A half-close does not
   * count.
   */
  readonly gone: Promise<void>
  #resolveGone!: () => void
  #lost = false
  #hasReply = false
  #waiting: (() => void) | undefined
  #remoteEnded = false

  readonly #connection: Carrier

  constructor(
    connection: Carrier,
    readonly id: number,
    readonly headers: SpdyHeaders,
  ) {
    // The number of bytes that a reader may fall behind before it blocks the connection's other streams. Not
    // `autoDestroy`: with it `for await` over the stream would reset it at the end of reading, while this side still
    // writes.
    super({
      allowHalfOpen: true,
      autoDestroy: false,
      readableHighWaterMark: 256 * 1024,
      writableHighWaterMark: 64 * 1024,
    })
    this.#connection = connection
    this.gone = new Promise((resolve) => (this.#resolveGone = resolve))
    const destroyWhenDone = () => void (this.readableEnded && this.writableFinished && this.destroy())
    this.once("end", destroyWhenDone)
    this.once("finish", destroyWhenDone)
  }

  /** Called when the peer has accepted the stream. */
  replied(): void {
    this.#hasReply = true
    this.#release()
  }

  receive(data: Buffer): void {
    if (this.#remoteEnded || this.destroyed) return
    if (!this.push(data)) this.#connection.setFull(this, true)
  }

  remoteEnd(): void {
    if (this.#remoteEnded) return
    this.#remoteEnded = true
    if (!this.destroyed) this.push(null)
    // Once its end is there, a stream never asks for more: it would block the others for ever.
    this.#connection.setFull(this, false)
    if (this.writableFinished) this.#connection.forget(this)
  }

  remoteReset(): void {
    this.connectionEnd()
    this.#connection.forget(this)
  }

  /**
   * Tells the peer that nothing more is read or written. Unlike after `destroy`, a reader of this side sees an ordinary
   * end.
   */
  cancel(): void {
    if (!this.#lost && !(this.#remoteEnded && this.writableFinished)) this.#connection.sendReset(this.id, RST.cancel)
    this.remoteReset()
  }

  /**
   * Called when the connection has ended: nothing more can arrive or be sent. Data that has arrived can still be read.
   */
  connectionEnd(): void {
    this.#lost = true
    this.remoteEnd()
    this.#release()
    this.#resolveGone()
  }

  override _read(): void {
    this.#connection.setFull(this, false)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#whenReplied(() => (this.#lost ? callback() : this.#connection.sendData(this.id, chunk, false, callback)))
  }

  override _final(callback: () => void): void {
    this.#whenReplied(() => {
      if (!this.#lost) this.#connection.sendData(this.id, Buffer.alloc(0), true, () => {})
      callback()
      if (this.#remoteEnded) this.#connection.forget(this)
    })
  }

  override _destroy(_error: Error | null, callback: (error: Error | null) => void): void {
    const finished = this.#remoteEnded && this.writableFinished
    if (!this.#lost && !finished) this.#connection.sendReset(this.id, RST.cancel)
    this.#lost = true
    this.#remoteEnded = true
    this.#release()
    this.#resolveGone()
    this.#connection.forget(this)
    callback(null)
  }

  #whenReplied(run: () => void): void {
    if (this.#hasReply || this.#lost) run()
    else this.#waiting = run
  }

  #release(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.()
  }
}
