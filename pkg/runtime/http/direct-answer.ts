/**
 * Sends short responses over HTTP/1.1 as one write to the native socket. On their way through `node:http` each header
 * is checked, stored and rendered, head and body become Buffers and then one Buffer, and the stream keeps three objects
 * of them until a later turn: more than all stages of a GET together.
 */
import { type OutgoingHttpHeaders, ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"

/** From about this size on, copying the body behind the head would cost more than a second system call. */
const MOST_BODY_BYTES = 32 * 1024
/** Longer heads are sent by `node:http`. */
const MOST_HEAD_BYTES = 4 * 1024

/** Where each response is put together: the native socket has read the bytes when its `write` returns. */
const together = Buffer.allocUnsafeSlow(MOST_HEAD_BYTES + MOST_BODY_BYTES)

/** The object beneath a stream of `node:tls` in Bun. Its `write` returns how many bytes it took. */
interface NativeSocket {
  write(bytes: Uint8Array, start: number, length: number): number
}

/** Headers that say nothing about the connection or the form of the body. Others are left to `node:http`. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set([
  "Audit-Id",
  "Cache-Control",
  "Content-Encoding",
  "Content-Type",
  "Vary",
  "X-Kubernetes-PF-FlowSchema-UID",
  "X-Kubernetes-PF-PriorityLevel-UID",
])

/** What a header's value may not have in it, or only as `node:http` decides. */
const UNUSUAL = /[^\x20-\x7e]/

const DIRECT = Symbol("direct responses")

/** A connection that takes direct responses. */
interface DirectSocket extends Socket {
  /** The last header of responses, which tells how long the connection may be idle. */
  [DIRECT]?: string
  readonly _handle?: Partial<NativeSocket> | null
}

/** Allows direct responses on a connection of HTTP/1.1 that may be idle for `idleMs`. */
export function allowDirectAnswers(socket: Socket, idleMs: number): void {
  socket.write = writeUnlessDropped as Socket["write"]
  ;(socket as DirectSocket)[DIRECT] = `timeout=${Math.floor(idleMs / 1000)}`
}

/** The connection whose next write is dropped. */
let dropping: Socket | undefined

/** The `write` of connections that take direct responses. */
function writeUnlessDropped(this: Socket, ...args: Parameters<Socket["write"]>): boolean {
  if (this !== dropping) return (Object.getPrototypeOf(this) as Socket).write.apply(this, args)
  dropping = undefined
  return true
}

/**
 * Sends a whole response, and ends it for `node:http`. Returns false, and has done nothing, where only `node:http` can
 * send it: over HTTP/2, behind other responses, to a client that reads slowly or wants the connection closed.
 */
export function sentDirectly(
  res: object,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Uint8Array | string,
  length: number,
): boolean {
  if (length > MOST_BODY_BYTES || !(res instanceof ServerResponse) || !keepsConnection(res)) return false
  const socket: DirectSocket | null = res.socket
  const native = socket?._handle
  if (socket === null || !isFree(socket) || typeof native?.write !== "function") return false
  const head = headOf(status, headers, length, socket[DIRECT])
  if (head === undefined) return false

  together.write(head, 0, "latin1")
  if (typeof body === "string") together.write(body, head.length, "utf8")
  else together.set(body, head.length)
  const whole = head.length + length
  const written = native.write(together, 0, whole)
  // The stream waits until the client has read, and `end` waits for the stream.
  if (written !== whole) socket.write(Buffer.from(together.subarray(Math.max(0, written), whole)))
  endUnsent(res, socket, status)
  return true
}

/** Whether the connection stays open after the response, and nothing has been done with the response yet. */
const keepsConnection = (res: ServerResponse): boolean =>
  res.shouldKeepAlive &&
  res.req.httpVersion === "1.1" &&
  res.req.method !== "HEAD" &&
  res.req.headers.connection === undefined &&
  !res.headersSent &&
  !res.destroyed &&
  res.getHeaderNames().length === 0

/** Whether no bytes of earlier responses wait for the client, and the connection was not ended. */
const isFree = (socket: DirectSocket): boolean =>
  socket[DIRECT] !== undefined &&
  socket.write === writeUnlessDropped &&
  socket.writableLength === 0 &&
  socket.writable &&
  socket.writableCorked === 0

/** Ends the response for `node:http`, whose own head is dropped. */
function endUnsent(res: ServerResponse, socket: Socket, status: number): void {
  res.statusCode = status
  res.sendDate = false // costs a microsecond, and would be dropped
  dropping = socket
  try {
    res.end()
  } finally {
    dropping = undefined
  }
}

/** Returns the head as `node:http` would send it; undefined where that should look at the headers itself. */
function headOf(
  status: number,
  headers: OutgoingHttpHeaders,
  length: number,
  idle: string | undefined,
): string | undefined {
  if (status < 200 || status === 204 || status === 304) return undefined
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== "string" || UNUSUAL.test(value) || !PLAIN_HEADERS.has(name)) return undefined
    head += `${name}: ${value}\r\n`
  }
  head += `content-length: ${length}\r\nDate: ${httpDate()}\r\nConnection: keep-alive\r\nKeep-Alive: ${idle}\r\n\r\n`
  return head.length > MOST_HEAD_BYTES ? undefined : head
}

let date = { second: -1, text: "" }

/** Returns the time as HTTP writes it, made once a second. */
function httpDate(): string {
  const now = Date.now()
  const second = Math.floor(now / 1000)
  if (second !== date.second) date = { second, text: new Date(now).toUTCString() }
  return date.text
}
