import { Buffer } from "node:buffer"
import type { OutgoingHttpHeaders } from "node:http"
import { directResponse, endDirect, MOST_HEAD_BYTES } from "./direct-response.ts"

/** From about this size on, copying the body behind the head would cost more than a second system call. */
const MOST_BODY_BYTES = 32 * 1024

/** Where each response is put together: the native socket has read the bytes when its `write` returns. */
const together = Buffer.allocUnsafeSlow(MOST_HEAD_BYTES + MOST_BODY_BYTES)

/**
 * Sends a whole short response over HTTP/1.1 as one write to the native socket. Returns false, and has done nothing,
 * where only `node:http` can send it.
 */
export function sentDirectly(
  res: object,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Uint8Array | string,
  length: number,
): boolean {
  if (length > MOST_BODY_BYTES) return false
  const response = directResponse(res, status, headers, length)
  if (response === undefined) return false
  const { socket, native, head } = response
  together.write(head, 0, "latin1")
  if (typeof body === "string") together.write(body, head.length, "utf8")
  else together.set(body, head.length)
  const whole = head.length + length
  const written = native.write(together, 0, whole)
  // The stream waits until the client has read, and the end of the response waits for the stream.
  if (written !== whole) socket.write(Buffer.from(together.subarray(Math.max(0, written), whole)))
  response.res.statusCode = status
  endDirect(response.res, socket)
  return true
}
