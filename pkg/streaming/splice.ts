import type { Duplex } from "node:stream"

/**
 * Copies both ways between two connections, the end of each direction on its own. What one side has sent before it was
 * closed still reaches the other; a side that is lost takes the other with it. Resolves when both are closed.
 */
export async function splice(one: Duplex, other: Duplex): Promise<void> {
  await Promise.all([follow(one, other), follow(other, one)])
}

function follow(side: Duplex, other: Duplex): Promise<void> {
  side.pipe(other)
  side.on("error", () => side.destroy())
  return new Promise((resolve) => {
    const closed = (): void => {
      // A side that closed in order has said all: what of it is still on its way to the other is sent before that is
      // closed too.
      if (!side.readableEnded) other.destroy()
      else if (other.writableFinished) other.destroy()
      else other.once("finish", () => other.destroy())
      resolve()
    }
    if (side.closed) closed()
    else side.once("close", closed)
  })
}
