import type { IncomingMessage } from "node:http"

/** A body that fits into the stream's own buffer is read without pauses. */
export const SMALL_BYTES = 16 * 1024

/**
 * Stops reading from the connection of an HTTP/1.1 request while nothing reads its body. Bun reads on in any case, so
 * that the body of a request that is forwarded slowly would fill the memory. Reading continues when the body is read.
 * Returns a function to call when the request has been answered: reading then continues too.
 */
export function holdBack(req: IncomingMessage): () => void {
  const { socket } = req
  const length = req.headers["content-length"]
  if (req.headers["transfer-encoding"] === undefined && Number(length ?? 0) <= SMALL_BYTES) return () => {}
  const push = req.push.bind(req)
  const read = req._read.bind(req)
  let held = false
  const release = () => {
    if (!held) return
    held = false
    socket.resume()
  }
  req.push = (chunk, encoding) => {
    const wantsMore = push(chunk, encoding)
    // At the end of the body reading goes on, because the next request may follow it.
    if (!wantsMore && chunk !== null) {
      held = true
      socket.pause()
    }
    return wantsMore
  }
  req._read = (size) => {
    release()
    read(size)
  }
  return release
}
