import type { Writable } from "node:stream"

/** Resolves when more may be written, or the stream is closed; at once when it was closed before. */
export const drained = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed) return resolve()
    const done = () => {
      stream.off("drain", done)
      stream.off("close", done)
      resolve()
    }
    stream.once("drain", done)
    stream.once("close", done)
  })

/**
 * Writes the parts of a response body as they arrive, at the pace of the client, and ends it. Stops when the client has
 * gone. The head is sent at once, because the first part may take long, as in a log that is followed.
 */
export async function passOn(parts: AsyncIterable<Uint8Array>, to: Writable): Promise<void> {
  to.write("")
  for await (const part of parts) {
    if (to.destroyed) return
    if (!to.write(part)) await drained(to)
  }
  to.end()
}
