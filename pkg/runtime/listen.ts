/** The TLS listener: HTTP/1.1 and HTTP/2 on one port, client certificates, upgrades, certificates exchanged while running, an orderly end.
 *
 *  Shape: one `tls.Server` that hands each connection, by what ALPN agreed on, to an HTTP/1.1 or an HTTP/2 server which never listen themselves.
 *  `http2.createSecureServer({ allowHTTP1: true })` would be shorter and is as fast (16 connections, 1 KB answers, load generator on the same two cores:
 *  57–61 k/s over HTTP/1.1 and 54–68 k/s over HTTP/2 either way), but Bun's has no `setSecureContext`, without which a renewed
 *  certificate would need a restart. Raw HTTP/2 streams in place of the request/response pair gave 80 k/s; not worth a second code path. */
import {
  createServer as createHttp1,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http"
import {
  createServer as createHttp2,
  type Http2Session,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2"
import type { AddressInfo } from "node:net"
import type { Duplex, Readable, Writable } from "node:stream"
import { createServer as createTls, type TLSSocket } from "node:tls"
import { type Subject, subjectOf } from "../pki/subject.ts"
import { holdBack } from "./body-pressure.ts"

/** A request of either protocol version. Header names are in lower case. */
export interface ServerRequest extends Readable {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  /** Name and value in turn, as they came; headers that came several times are kept apart here. */
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
  readonly httpVersionMajor: number
}

/** The answer to a `ServerRequest`. `close` is emitted when it is done with, also when the client goes away first. */
export interface ServerAnswer extends Writable {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string | number | readonly string[]): unknown
  writeHead(status: number, headers?: OutgoingHttpHeaders): unknown
}

export interface Certificates {
  /** PEM: the serving certificate, with intermediates, and its key. */
  readonly cert: string
  readonly key: string
  /** PEM bundle of the authorities whose client certificates count. */
  readonly clientCa: string
}

export interface ListenOptions extends Certificates {
  readonly host: string
  /** 0 takes a free one: read it from `port` of the result. */
  readonly port: number
  readonly onRequest: (req: ServerRequest, res: ServerAnswer) => void
  /** A request with `Connection: Upgrade`: HTTP/1.1 only. The socket is the callee's from here on. Without it such requests are answered 400. */
  readonly onUpgrade?: (req: ServerRequest, socket: Duplex, head: Buffer) => void
}

export interface Listener {
  readonly port: number
  /** New connections get these; open ones go on with what they have. */
  setCertificates(certificates: Certificates): void
  /** Takes no more connections, lets requests under way finish (GOAWAY, `Connection: close`) for `graceMs`, then cuts what is left. */
  stop(options?: { graceMs?: number }): Promise<void>
}

/** Idle HTTP/1.1 connections are kept this long: clients that pause between requests should not pay for another handshake. */
const KEEP_ALIVE_MS = 180_000
/** As Go's server: streams a client may have open at once. Watches are streams, and one client may hold many. */
const MAX_STREAMS = 1000

/** Starts listening. Rejects with a message that names address and cause. */
export async function listenTls(options: ListenOptions): Promise<Listener> {
  const { host, port, onRequest, onUpgrade } = options
  const connections = new Set<TLSSocket>()
  const sessions = new Set<ServerHttp2Session>()
  /** Requests under way on each HTTP/1.1 connection. */
  const busy = new Map<Duplex, number>()
  let stopping = false

  const http1 = createHttp1((req, res: ServerResponse) => {
    const { socket } = req
    busy.set(socket, (busy.get(socket) ?? 0) + 1)
    const release = holdBack(req)
    if (stopping) res.shouldKeepAlive = false
    res.once("close", () => {
      release()
      const left = (busy.get(socket) ?? 1) - 1
      if (left > 0) busy.set(socket, left)
      else busy.delete(socket)
      if (stopping && left <= 0) socket.end()
    })
    onRequest(req, res)
  })
  http1.keepAliveTimeout = KEEP_ALIVE_MS
  http1.on("clientError", (_err, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    else socket.destroy()
  })
  http1.on("upgrade", (req, socket, head) => {
    busy.set(socket, 1) // an upgraded connection is never idle
    socket.once("close", () => busy.delete(socket))
    if (onUpgrade !== undefined) onUpgrade(req, socket, head)
    else socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
  })

  const http2 = createHttp2({ settings: { maxConcurrentStreams: MAX_STREAMS } }, (req, res) => {
    // A client that resets its stream is no error of ours: `close` of the answer tells whoever writes it.
    req.stream.on("error", () => {})
    onRequest(req, res)
  })
  http2.on("session", (session) => {
    sessions.add(session)
    session.on("error", () => session.destroy())
    session.once("close", () => sessions.delete(session))
    if (stopping) session.close()
  })

  const secure = (certificates: Certificates) => ({
    cert: certificates.cert,
    key: certificates.key,
    ca: certificates.clientCa,
    requestCert: true,
    rejectUnauthorized: false, // other ways to authenticate exist; `peerCertificate` counts verified certificates only
    minVersion: "TLSv1.2" as const,
  })
  const server = createTls({ ...secure(options), ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
    connections.add(socket)
    socket.once("close", () => connections.delete(socket))
    socket.on("error", () => socket.destroy()) // a connection cut by the other side
    socket.setNoDelay(true)
    // What was still in its handshake when `stop` was called; an HTTP/2 session is told by GOAWAY below.
    if (stopping && socket.alpnProtocol !== "h2") socket.end()
    else if (socket.alpnProtocol === "h2") http2.emit("connection", socket)
    else http1.emit("connection", socket)
  })
  server.on("tlsClientError", (_err, socket) => socket.destroy())

  await new Promise<void>((resolve, reject) => {
    server.once("error", (err: NodeJS.ErrnoException) => {
      const why =
        err.code === "EADDRINUSE" ? "the address is in use" : err.code === "EACCES" ? "permission denied" : err.message
      reject(new Error(`Cannot listen on ${host}:${port}: ${why}`, { cause: err }))
    })
    server.listen({ host, port }, resolve)
  })

  return {
    port: (server.address() as AddressInfo).port,
    setCertificates: (certificates) => server.setSecureContext(secure(certificates)),
    async stop({ graceMs = 0 } = {}) {
      stopping = true
      const closed = new Promise<void>((resolve) => void server.close(() => resolve())) // when every connection is
      for (const session of sessions) session.close()
      for (const socket of connections) if (socket.alpnProtocol !== "h2" && !busy.has(socket)) socket.end()
      const cut = setTimeout(() => {
        for (const session of sessions) session.destroy()
        for (const socket of connections) socket.destroy()
      }, graceMs)
      await closed
      clearTimeout(cut)
    },
  }
}

/** Writes a whole answer at once: the fast way for one that is at hand. */
export function answer(
  res: ServerAnswer,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Uint8Array | string,
): void {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength
  res.writeHead(status, { ...headers, "content-length": String(length) })
  res.end(body)
}

/** A client's certificate, verified. */
export interface PeerCertificate extends Subject {
  /** DER. */
  readonly raw: Buffer
}

const subjects = new WeakMap<TLSSocket | Http2Session, PeerCertificate | null>()

/** Who the client's certificate says it is, if it showed one that an authority of ours has signed and that is in its time. Anything else is none. */
export function peerCertificate(req: ServerRequest): PeerCertificate | undefined {
  const session = req instanceof Http2ServerRequest ? req.stream.session : undefined
  const socket = (session?.socket ?? (req as unknown as { socket: TLSSocket }).socket) as TLSSocket
  const connection = session ?? socket
  let subject = subjects.get(connection)
  if (subject === undefined) {
    subject = verifiedSubject(socket) ?? null
    subjects.set(connection, subject)
  }
  return subject ?? undefined
}

/** The address the connection comes from, undefined once it is closed. */
export function remoteAddress(req: ServerRequest): string | undefined {
  const socket =
    req instanceof Http2ServerRequest ? req.stream.session?.socket : (req as unknown as { socket: TLSSocket }).socket
  return socket?.remoteAddress
}

/** Whether the answer goes over HTTP/2, where `Connection` and `Transfer-Encoding` headers are not allowed. */
export const isHttp2 = (res: ServerAnswer): boolean => res instanceof Http2ServerResponse

function verifiedSubject(socket: TLSSocket): PeerCertificate | undefined {
  if (!socket.authorized) return undefined
  const raw = socket.getPeerCertificate()?.raw as Buffer | undefined
  return raw === undefined ? undefined : { ...subjectOf(raw), raw }
}
