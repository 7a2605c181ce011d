import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import { takeShortBody } from "../../../pkg/runtime/http/short-body.ts"
import { shareUsedUp } from "../call/too-many-requests.ts"

/** Most bytes of a body. Source: apiserver pkg/server/config.go MaxRequestBodyBytes. */
const MAX_BODY_BYTES = 3 * 1024 * 1024
/** Most bytes held of incomplete bodies of all requests together: a hundred of the largest bodies. */
export const UNFINISHED_BODY_BYTES = 100 * MAX_BODY_BYTES

const EMPTY = Buffer.alloc(0)

/**
 * Reads the whole body. `unfinished` counts the bytes of incomplete bodies, of which each user has a share. Rejects
 * with RequestEntityTooLarge as soon as the size is known, with TooManyRequests when the user's share is used up, and
 * with BadRequest when the client goes away.
 */
export function readBody(req: ServerRequest, user: string, unfinished: FairShare): Promise<Buffer> {
  const declared = req.headers["content-length"]
  if (declared === "0") return Promise.resolve(EMPTY)
  if (declared !== undefined && Number(declared) > MAX_BODY_BYTES) {
    req.resume()
    return Promise.reject(tooLarge())
  }
  return new Promise((resolve, reject) => {
    const inParts = () => readParts(req, user, unfinished, resolve, reject)
    if (!takeShortBody(req, { whole: resolve, inParts, gone: () => reject(unexpectedEnd()) })) inParts()
  })
}

/** Reads a body from the stream of its request. */
function readParts(
  req: ServerRequest,
  user: string,
  unfinished: FairShare,
  resolve: (body: Buffer) => void,
  reject: (error: ApiError) => void,
): void {
  const declared = Number(req.headers["content-length"])
  const chunks: Buffer[] = []
  let [length, held] = [0, 0]
  let settled = false
  const settle = (): void => {
    settled = true
    if (held > 0) unfinished.giveBack(user, held)
  }
  const refuse = (error: ApiError): void => {
    settle()
    chunks.length = 0
    reject(error)
  }
  req.on("data", (chunk: Buffer) => {
    // The rest of a refused body is read and dropped, so that the client gets to see the response.
    if (settled) return
    length += chunk.length
    chunks.push(chunk)
    if (length > MAX_BODY_BYTES) return refuse(tooLarge())
    // Most bodies come in one piece and are complete at once.
    if (declared === length) return
    if (unfinished.take(user, chunk.length)) held += chunk.length
    else refuse(shareUsedUp("unfinished request bodies"))
  })
  req.on("end", () => {
    if (settled) return
    settle()
    resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  })
  const onGone = () => {
    if (!settled) refuse(unexpectedEnd())
  }
  req.on("error", onGone)
  req.on("close", onGone)
}

const tooLarge = (): ApiError =>
  new ApiError("RequestEntityTooLarge", `Request entity too large: limit is ${MAX_BODY_BYTES}`)

const unexpectedEnd = (): ApiError =>
  new ApiError("BadRequest", "unexpected EOF: the connection was closed before the end of the body")
