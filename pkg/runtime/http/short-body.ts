import { IncomingMessage } from "node:http"
import { SMALL_BYTES } from "./body-pressure.ts"
import type { ServerRequest } from "./server-request.ts"

/** Who waits for a body. */
export interface ShortBodyReader {
  whole(body: Buffer): void
  /** The body comes in several parts: its stream is to be read, in this turn. */
  inParts(): void
  /** The client went away before the body came. */
  gone(): void
}

/**
 * Takes a short body over HTTP/1.1 that comes as one part from the parser, past the stream of the request: its four
 * events come in later turns, and cost as much as reading JSON. Returns false, and has done nothing, for other
 * requests, and where a part has come already.
 */
export function takeShortBody(req: ServerRequest, { whole, inParts, gone }: ShortBodyReader): boolean {
  if (!(req instanceof IncomingMessage) || !isToCome(req)) return false
  const length = Number(req.headers["content-length"])
  let body: Buffer | undefined
  req.push = (chunk: Buffer | null) => {
    if (body === undefined && chunk?.length === length) {
      body = chunk
      return true
    }
    req.off("close", gone)
    if (body !== undefined && chunk === null) {
      whole(body)
      return true
    }
    req.push = (Object.getPrototypeOf(req) as IncomingMessage).push
    inParts()
    return req.push(chunk)
  }
  req.once("close", gone)
  return true
}

/** Whether nothing of a short body has come, and nobody has begun to read it. */
function isToCome(req: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": coding } = req.headers
  return (
    coding === undefined &&
    length !== undefined &&
    Number(length) <= SMALL_BYTES &&
    !req.complete &&
    !req.destroyed &&
    req.readableLength === 0 &&
    req.readableFlowing === null
  )
}
