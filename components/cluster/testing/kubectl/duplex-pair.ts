import { Duplex } from "node:stream"

/** One end of a connection within this process. */
class End extends Duplex {
  other: End | undefined
  /** Called when the other end has read what was written. */
  #read: (() => void) | undefined

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    const { other } = this
    if (other === undefined || other.destroyed) done(new Error("write: broken pipe"))
    else if (other.push(chunk)) done()
    else this.#read = () => done()
  }

  override _final(done: () => void): void {
    this.other?.push(null)
    done()
  }

  override _read(): void {
    this.other?.wasRead()
  }

  wasRead(): void {
    const read = this.#read
    this.#read = undefined
    read?.()
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    const { other } = this
    this.other = undefined
    if (other !== undefined && !other.destroyed) other.destroy()
    done(err)
  }
}

/** Returns the two ends of a connection: each reads what is written to the other. */
export function duplexPair(): readonly [Duplex, Duplex] {
  const [a, b] = [new End(), new End()]
  a.other = b
  b.other = a
  return [a, b]
}
