import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { ServerRequest } from "../../../pkg/runtime/listen.ts"

/** No body may be larger. Source: apiserver pkg/server/config.go MaxRequestBodyBytes. */
const MAX_BODY_BYTES = 3 * 1024 * 1024

const EMPTY = Buffer.alloc(0)

/** The whole body. Rejects with RequestEntityTooLarge as soon as it is known to be, with BadRequest when the client goes away before its end. */
export function readBody(req: ServerRequest): Promise<Buffer> {
  const declared = req.headers["content-length"]
  if (declared === "0") return Promise.resolve(EMPTY)
  if (declared !== undefined && Number(declared) > MAX_BODY_BYTES) {
    req.resume()
    return Promise.reject(tooLarge())
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let settled = false
    req.on("data", (chunk: Buffer) => {
      // What is still to come of a body that is too large is read and dropped, so that the client gets to see the answer.
      if (settled) return
      length += chunk.length
      chunks.push(chunk)
      if (length <= MAX_BODY_BYTES) return
      settled = true
      chunks.length = 0
      reject(tooLarge())
    })
    req.on("end", () => {
      if (settled) return
      settled = true
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    const onGone = () => {
      if (settled) return
      settled = true
      reject(new ApiError("BadRequest", "unexpected EOF: the connection was closed before the end of the body"))
    }
    req.on("error", onGone)
    req.on("close", onGone)
  })
}

const tooLarge = (): ApiError =>
  new ApiError("RequestEntityTooLarge", `Request entity too large: limit is ${MAX_BODY_BYTES}`)
