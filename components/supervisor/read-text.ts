import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { ServerRequest } from "../../pkg/runtime/http/server-request.ts"

/**
 * Reads the body of a request as text. @throws ApiError RequestEntityTooLarge, as soon as the body exceeds `mostBytes`
 */
export async function readText(req: ServerRequest, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  if (Number(req.headers["content-length"] ?? 0) > mostBytes) throw tooLarge(mostBytes)
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > mostBytes) throw tooLarge(mostBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const tooLarge = (mostBytes: number): ApiError =>
  new ApiError("RequestEntityTooLarge", `the body is larger than ${mostBytes} bytes`)
