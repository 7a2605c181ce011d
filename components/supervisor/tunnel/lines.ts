import type { Duplex } from "node:stream"

/** The longest line, in bytes. A longer one ends the connection, since our protocol has none. */
const MAX_LINE = 1024

/**
 * Calls `onLine` for each line of text that comes over a connection, without its end. A line that is too long ends the
 * connection. `head` are the bytes that came first.
 */
export function readLines(socket: Duplex, head: Uint8Array, onLine: (line: string) => void): void {
  let rest = ""
  const read = (chunk: Uint8Array): void => {
    rest += Buffer.from(chunk).toString("latin1")
    const lines = rest.split("\n")
    rest = lines.pop()!
    for (const line of lines) onLine(line)
    if (rest.length > MAX_LINE) socket.destroy()
  }
  socket.on("data", read)
  if (head.length > 0) read(head)
}
