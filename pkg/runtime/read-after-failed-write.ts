import type { Socket } from "node:net"

type Done = (err?: Error | null) => void

/** What a socket writes by. */
interface Writes {
  _write(chunk: unknown, encoding: BufferEncoding, done: Done): void
  _writev?: ((chunks: unknown, done: Done) => void) | undefined
}

/**
 * Lets a socket be read to the end although the other side takes nothing more. A peer that closes a connection without
 * having read all of it resets it; what it has sent before is still to be read, for instance the status of a command
 * that has ended without its input. Bun closes the socket with the first write that fails, and drops what has not been
 * read. Here such a write does nothing; the socket ends when it has been read.
 */
export function readAfterFailedWrite(socket: Socket): void {
  const own = socket as unknown as Writes
  const write = own._write.bind(socket)
  const writev = own._writev?.bind(socket)
  let isOver = false
  const until = (done: Done): Done => {
    return (err) => {
      if (err !== undefined && err !== null) isOver = true
      done()
    }
  }
  own._write = (chunk, encoding, done) => (isOver ? done() : write(chunk, encoding, until(done)))
  if (writev !== undefined) own._writev = (chunks, done) => (isOver ? done() : writev(chunks, until(done)))
}
