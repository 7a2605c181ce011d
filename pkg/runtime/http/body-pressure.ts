import type { IncomingMessage } from "node:http"

/** A body that fits into the stream's own buffer needs no holding back. */
const SMALL_BYTES = 16 * 1024

/**
 * Stops reading from the connection of an HTTP/1.1 request while nobody takes its body. Bun reads on whatever happens,
 * so that the body of a request that is passed on slowly would gather in memory. The connection goes on when the body
 * is read, or when the request has been answered: call what is given then.
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
    // The end of the body is no reason to wait: the next request may stand behind it.
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
