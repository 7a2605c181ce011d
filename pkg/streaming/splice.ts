import type { Duplex } from "node:stream"

/**
 * Copies in both directions between two connections; each direction ends on its own. What one side has sent before it
 * was closed still reaches the other. When one side is lost, the other is destroyed. Resolves when both are closed.
 */
export async function splice(one: Duplex, other: Duplex): Promise<void> {
  await Promise.all([follow(one, other), follow(other, one)])
}

function follow(side: Duplex, other: Duplex): Promise<void> {
  side.pipe(other)
  side.on("error", () => side.destroy())
  return new Promise((resolve) => {
    const closed = (): void => {
      // A side that closed in order has sent everything: its remaining data is sent to the other side before that is
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
