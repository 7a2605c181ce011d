import { createServer, type Socket } from "node:net"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { orClose } from "../../../pkg/failure/or-close.ts"

/** The first line of a request. */
export interface Question {
  readonly method: string
  /** With the query, as it was sent. */
  readonly target: string
}

export interface Answer {
  readonly status: keyof typeof REASONS
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

export interface OneAnswerServerParts {
  readonly host: string
  readonly port: number
  /** At `::`, leave connections of IPv4 to another server. */
  readonly ipv6Only?: boolean
  readonly clock: Clock
  /** Must not throw. */
  answer(question: Question): Answer
  opened?(): void
  /** The server does not listen, or does so no more. It is called once at most, and not after `close`. */
  failed(err: Error): void
}

export interface OneAnswerServer {
  /** Ends open connections too. */
  close(): void
}

const REASONS = {
  200: "OK",
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  500: "Internal Server Error",
  503: "Service Unavailable",
} as const

/** Milliseconds in which a client must send its request and read the answer before its connection is closed. */
const CONNECTION_MS = 5000
/** The longest head of a request, in bytes. */
const MOST_BYTES = 8192
/** The most connections to one server at once; a load balancer usually has one. */
const MOST_CONNECTIONS = 64

/**
 * Serves HTTP/1.1 to programs that ask for a short answer now and then: one request a connection, whose body is not
 * read. Bytes, connections and their time are bounded, which Bun's `node:http` does not do.
 */
export function openOneAnswerServer(parts: OneAnswerServerParts): OneAnswerServer {
  const sockets = new Set<Socket>()
  let isOpen = true
  const server = createServer((socket) => {
    if (!isOpen) return void socket.destroy()
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    serveOne(socket, parts)
  })
  const close = () => {
    isOpen = false
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  server.maxConnections = MOST_CONNECTIONS
  server.on("error", (err) => {
    if (!isOpen) return
    close()
    parts.failed(err)
  })
  const { host, port, ipv6Only = false, opened } = parts
  server.listen({ host, port, ipv6Only }, opened)
  return { close }
}

function serveOne(socket: Socket, { clock, answer }: OneAnswerServerParts): void {
  const tooLate = clock.setTimeout(() => socket.destroy(), CONNECTION_MS)
  socket.on("error", () => socket.destroy())
  socket.on("close", () => tooLate.cancel())
  let head = ""
  socket.on("data", (bytes: Buffer) => {
    head += bytes.toString("latin1")
    if (head.length > MOST_BYTES) socket.destroy()
    else if (head.includes("\r\n\r\n")) {
      socket.removeAllListeners("data")
      orClose(
        () => socket.destroy(),
        () => socket.end(responseTo(head, answer)),
      )
    }
  })
}

function responseTo(head: string, answer: OneAnswerServerParts["answer"]): string {
  const [, method = "", target = ""] = /^([A-Z]+) (\S+) HTTP\/1\.[01]\r\n/.exec(head) ?? []
  const { status, type, headers, body }: Answer =
    method === "" ? plainAnswer(400, "Bad Request\n") : answer({ method, target })
  return [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    `Content-Type: ${type}`,
    "X-Content-Type-Options: nosniff",
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    method === "HEAD" ? "" : body,
  ].join("\r\n")
}

export const plainAnswer = (status: Answer["status"], body: string): Answer => ({
  status,
  type: "text/plain; charset=utf-8",
  body,
})
