/**
 * Responses over HTTP/1.1 that pass `node:http` by: their bytes go to the native socket beneath the stream. On their way
 * through `node:http` each header is checked, stored and rendered, head and body become Buffers and then one Buffer, and
 * the stream keeps three objects of them until a later turn: more than all stages of a GET together.
 */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"

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
  "Retry-After",
  "Vary",
  "X-Content-Type-Options",
  "X-Kubernetes-PF-FlowSchema-UID",
  "X-Kubernetes-PF-PriorityLevel-UID",
])

/** What a header's value may not have in it, or only as `node:http` decides. */
const UNUSUAL = /[^\x20-\x7e]/

/** Longer heads are sent by `node:http`. */
export const MOST_HEAD_BYTES = 4 * 1024

const IDLE = Symbol("idle time")

/** A connection of HTTP/1.1. */
interface Http1Socket extends Socket {
  /** How long it may be idle, as a header tells the client; undefined where direct responses are not allowed. */
  [IDLE]?: string
  readonly _handle?: Partial<NativeSocket> | null
}

/** Allows direct responses on a connection of HTTP/1.1 that may be idle for `idleMs`. */
export function allowDirectResponses(socket: Socket, idleMs: number): void {
  socket.write = writeUnlessDropped as Socket["write"]
  ;(socket as Http1Socket)[IDLE] = `timeout=${Math.floor(idleMs / 1000)}`
}

/** The connection whose next write is dropped. */
let dropping: Socket | undefined

/** The `write` of connections that take direct responses. */
function writeUnlessDropped(this: Socket, ...args: Parameters<Socket["write"]>): boolean {
  if (this !== dropping) return (Object.getPrototypeOf(this) as Socket).write.apply(this, args)
  dropping = undefined
  return true
}

/** A response that nothing has been sent of, and whose bytes may go to the socket directly. */
export interface DirectResponse {
  readonly res: ServerResponse
  readonly socket: Socket
  readonly native: NativeSocket
  /** The head of the response. */
  readonly head: string
}

/**
 * Begins a response that has a body of `length` bytes. Returns undefined, and has done nothing, where only `node:http`
 * can send it: over HTTP/2, behind other responses, to a client that reads slowly or wants the connection closed.
 */
export function directResponse(
  res: object,
  status: number,
  headers: OutgoingHttpHeaders,
  length: number,
): DirectResponse | undefined {
  if (!(res instanceof ServerResponse) || !isUntouched(res) || !keepsConnection(res)) return undefined
  const socket: Http1Socket | null = res.socket
  const native = socket?._handle
  if (socket === null || !isFree(socket) || typeof native?.write !== "function") return undefined
  const head = headOf(status, headers, length, socket[IDLE])
  return head === undefined ? undefined : { res, socket, native: native as NativeSocket, head }
}

const isUntouched = (res: ServerResponse): boolean =>
  !res.headersSent && !res.destroyed && res.getHeaderNames().length === 0

const keepsConnection = ({ shouldKeepAlive, req }: ServerResponse): boolean =>
  shouldKeepAlive && req.httpVersion === "1.1" && req.method !== "HEAD" && req.headers.connection === undefined

/** Whether no bytes of earlier responses wait for the client, and the connection was not ended. */
const isFree = (socket: Http1Socket): boolean =>
  socket[IDLE] !== undefined &&
  socket.write === writeUnlessDropped &&
  socket.writableLength === 0 &&
  socket.writable &&
  socket.writableCorked === 0

/** Ends a response whose bytes have been written. `node:http` writes a head of its own, which is dropped. */
export function endDirect(res: ServerResponse, socket: Socket): void {
  dropBody(res.req)
  res.sendDate = false // costs a microsecond, and would be dropped
  dropping = socket
  try {
    res.end()
  } finally {
    dropping = undefined
  }
}

/** A request as `node:http` knows it, in Node.js too. */
interface OwnRequest extends IncomingMessage {
  readonly _consuming?: boolean
  _dumpAndCloseReadable?(): void
}

/**
 * Drops the body of a request that nobody has read, of most requests an empty one. `node:http` would read such a body
 * to its end, with four events in three later turns.
 */
function dropBody(req: OwnRequest): void {
  if (req._consuming === false) req._dumpAndCloseReadable?.()
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
    const line = lineOf(name, headers[name])
    if (line === undefined) return undefined
    head += line
  }
  head += `content-length: ${length}${endOfHead(idle)}`
  return head.length > MOST_HEAD_BYTES ? undefined : head
}

/** The last line of each plain header. Nearly all responses have the same lines but for their Audit-Id. */
const lastLines = new Map<string, { readonly value: string; readonly line: string }>()

/** Returns the line of a header; undefined where `node:http` should look at it. */
function lineOf(name: string, value: OutgoingHttpHeaders[string]): string | undefined {
  const last = lastLines.get(name)
  if (last !== undefined && last.value === value) return last.line
  if (typeof value !== "string" || UNUSUAL.test(value) || !PLAIN_HEADERS.has(name)) return undefined
  const line = `${name}: ${value}\r\n`
  lastLines.set(name, { value, line })
  return line
}

let end = { second: -1, idle: undefined as string | undefined, text: "" }

/** Returns what follows the length, made once a second: the time, and how long the connection may be idle. */
function endOfHead(idle: string | undefined): string {
  const now = Date.now()
  const second = Math.floor(now / 1000)
  if (second !== end.second || idle !== end.idle) {
    const date = new Date(now).toUTCString()
    end = {
      second,
      idle,
      text: `\r\nDate: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: ${idle}\r\n\r\n`,
    }
  }
  return end.text
}
