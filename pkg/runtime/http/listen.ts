/**
 * The TLS listener: HTTP/1.1 and HTTP/2 on one port, client certificates, upgrades, certificates that are replaced
 * while the server runs, a graceful stop.
 *
 * One `tls.Server` accepts the connections and passes each to an HTTP/1.1 or an HTTP/2 server, as ALPN has chosen; those
 * two never listen. `http2.createSecureServer({ allowHTTP1: true })` would be shorter and as fast (57–61 k/s over
 * HTTP/1.1 and 54–68 k/s over HTTP/2 either way: 16 connections, 1 KB responses, load generator on the same two cores),
 * but Bun's has no `setSecureContext`, so a renewed certificate would need a restart. Raw HTTP/2 streams instead of the
 * request and response objects gave 80 k/s, which is not worth a second code path.
 */
import { createServer as createHttp1, type OutgoingHttpHeaders, ServerResponse } from "node:http"
import { constants, createServer as createHttp2, Http2ServerRequest, Http2ServerResponse } from "node:http2"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { createServer as createTls, type TLSSocket } from "node:tls"
import { holdBack } from "./body-pressure.ts"
import { type Connection, connectionOf, type ConnectionLimits, Connections, defaultLimits } from "./connections.ts"
import { type PeerCertificate, verifiedPeer } from "./peer-certificate.ts"
import { beginListening } from "./begin-listening.ts"
import type { ServerRequest, ServerAnswer } from "./server-request.ts"

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
  /**
   * A request with `Connection: Upgrade`: HTTP/1.1 only. The socket is the callee's from here on. Without it such
   * requests are answered 400.
   */
  readonly onUpgrade?: (req: ServerRequest, socket: Duplex, head: Buffer) => void
  /** Upstream's times unless given, and as many connections as the limit of open files allows. */
  readonly limits?: Partial<ConnectionLimits>
}

export interface Listener {
  readonly port: number
  /** New connections get these; open ones go on with what they have. */
  setCertificates(certificates: Certificates): void
  /** Ends the connections of the client certificates that `isOut` names, with what is under way on them. */
  cutPeers(isOut: (peer: PeerCertificate) => boolean): void
  /**
   * Tells the clients of HTTP/1.1 with each answer that the connection closes behind it, and takes new connections all
   * the same. So most connections are closed at a moment when nothing is under way on them.
   */
  announceEnd(): void
  /**
   * Takes no more connections, lets requests under way finish (GOAWAY, `Connection: close`) for `graceMs`, then cuts
   * what is left. Idle connections of HTTP/1.1 are ended after `lingerMs`, at once unless given: a client that sends a
   * request meanwhile, as it cannot know of the end, gets its answer.
   */
  stop(options?: { graceMs?: number; lingerMs?: number }): Promise<void>
}

/**
 * How long a silent TCP connection may be before the other side is asked whether it is still there. Source: apiserver
 * pkg/server/secure_serving.go.
 */
const PROBE_AFTER_MS = 180_000
/** Streams a client may have open at once; Go's clients open another connection for more. Source: secure_serving.go. */
const MAX_STREAMS = 100

/** Starts listening. Rejects with a message that names address and cause. */
export async function listenTls(options: ListenOptions): Promise<Listener> {
  const { host, port, onRequest, onUpgrade } = options
  const limits: ConnectionLimits = { ...defaultLimits(), ...options.limits }
  const connections = new Connections(limits)
  /** Answers say that their connection closes. */
  let ending = false
  let stopping = false
  let lingering = false

  const http1 = createHttp1((req, res: ServerResponse) => {
    const connection = connections.of(req.socket as TLSSocket)
    connections.began(connection, res)
    const release = holdBack(req)
    if (ending) res.shouldKeepAlive = false
    res.once("close", () => {
      release()
      connections.ended(connection, res, isLate(req))
    })
    onRequest(req, res)
  })
  // Bun does not keep this time, `connections` does; clients are told of it.
  http1.keepAliveTimeout = limits.idleMs
  http1.on("clientError", (_err, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    else socket.destroy()
  })
  http1.on("upgrade", (req, socket, head) => {
    connections.of(socket as TLSSocket).upgraded = true
    if (onUpgrade !== undefined) onUpgrade(req, socket, head)
    else socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
  })

  const http2 = createHttp2({ settings: { maxConcurrentStreams: MAX_STREAMS } }, (req, res) => {
    const connection = ofSession(req)
    if (connection !== undefined) {
      connections.began(connection, res)
      res.once("close", () => connections.ended(connection, res, false))
    }
    // A client that resets its stream is no error of ours: `close` of the answer tells whoever writes it.
    req.stream.on("error", () => {})
    onRequest(req, res)
  })
  /** The connection that is handed to HTTP/2 in this turn. */
  let arriving: Connection | undefined
  http2.on("session", (session) => {
    if (arriving !== undefined) connections.setSession(arriving, session)
    session.on("error", () => session.destroy())
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
  const tls = { ...secure(options), ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: limits.headMs }
  const server = createTls(tls, (socket) => {
    const connection = connections.of(socket)
    connection.isSecure = true
    socket.on("error", () => socket.destroy()) // a connection cut by the other side
    socket.setNoDelay(true)
    socket.setKeepAlive(true, PROBE_AFTER_MS)
    // What was still in its handshake when `stop` was called; an HTTP/2 session is told by GOAWAY above.
    if (stopping && !lingering && socket.alpnProtocol !== "h2") socket.end()
    else if (socket.alpnProtocol === "h2") {
      arriving = connection
      http2.emit("connection", socket)
      arriving = undefined
    } else http1.emit("connection", socket)
  })
  // Bun gives the TLS socket here, before its handshake.
  server.on("connection", (socket) => connections.of(socket as TLSSocket))
  server.on("tlsClientError", (_err, socket) => socket.destroy())

  try {
    await beginListening(server, { host, port })
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    const why = code === "EADDRINUSE" ? "the address is in use" : code === "EACCES" ? "permission denied" : message
    throw new Error(`Cannot listen on ${host}:${port}: ${why}`, { cause: err })
  }

  return {
    port: (server.address() as AddressInfo).port,
    setCertificates: (certificates) => server.setSecureContext(secure(certificates)),
    cutPeers: (isOut) => connections.cutPeers(isOut),
    announceEnd() {
      ending = true
    },
    async stop({ graceMs = 0, lingerMs = 0 } = {}) {
      ending = stopping = true
      lingering = lingerMs > 0
      const closed = new Promise<void>((resolve) => void server.close(() => resolve())) // when every connection is
      connections.stop(lingering)
      const endIdle = () => {
        lingering = false
        connections.stop(false)
      }
      const linger = lingering ? setTimeout(endIdle, lingerMs) : undefined
      const cut = setTimeout(() => connections.cutAll(), graceMs)
      await closed
      clearTimeout(linger)
      clearTimeout(cut)
    },
  }
}

/**
 * Writes a whole answer at once: the fast way for one that is at hand. An answer that comes before the end of a large
 * body says that the connection closes, so that the client sends no other request on it.
 */
export function answer(
  res: ServerAnswer,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Uint8Array | string,
): void {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength
  if (res instanceof ServerResponse && isLate(res.req)) {
    res.shouldKeepAlive = false
    // It would be closed at once, and the reset of what the client still sends would take the answer from it:
    // `connections` gives it time to read.
    res.req.socket.destroySoon = () => undefined
  }
  const isShort = length <= MOST_CORKED_BYTES
  // Bun writes head and body apart, each a TLS record and a system call of its own: corked, both are one.
  const socket = res instanceof ServerResponse && isShort ? res.socket : null
  socket?.cork()
  res.writeHead(status, { ...headers, "content-length": String(length) })
  res.end(isShort && typeof body !== "string" ? asBuffer(body) : body)
  socket?.uncork()
}

/** Streams make a view of bytes that are no Buffer, and with it an ArrayBuffer, which stays with a stored object. */
function asBuffer(body: Uint8Array): Buffer {
  if (Buffer.isBuffer(body)) return body
  const copy = Buffer.allocUnsafe(body.byteLength)
  copy.set(body)
  return copy
}

/** From twice as much on, copying the body behind the head would cost more than a system call of its own. */
const MOST_CORKED_BYTES = 32 * 1024

/**
 * A body of which more is still to come is read to its end and dropped, so that its connection can be used again; no
 * more than this. Source: Go net/http maxPostHandlerReadBytes.
 */
const MOST_DROPPED_BYTES = 256 * 1024

/** Whether a large part of a request's body has not come, or may not have: its end is not waited for. */
function isLate({ complete, headers }: ServerRequest): boolean {
  return (
    !complete &&
    (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MOST_DROPPED_BYTES)
  )
}

/**
 * Stops receiving a request that has been answered before its end. Over HTTP/2 its stream would else stay open for as
 * long as the client likes; over HTTP/1.1 the listener sees to it. Source: RFC 9113, 8.1 (RST_STREAM with NO_ERROR).
 */
export function stopReceiving(req: ServerRequest, res: ServerAnswer): void {
  if (req instanceof Http2ServerRequest && !req.complete && res.writableEnded && !req.stream.endAfterHeaders)
    req.stream.close(constants.NGHTTP2_NO_ERROR)
}

const ofSession = (req: Http2ServerRequest): Connection | undefined =>
  req.stream.session === undefined ? undefined : connectionOf(req.stream.session)

/** The connection that a request came on, as long as it is open. */
const ofRequest = (req: ServerRequest): Connection | undefined =>
  req instanceof Http2ServerRequest ? ofSession(req) : connectionOf((req as unknown as { socket: TLSSocket }).socket)

/**
 * Who the client's certificate says it is, if it showed one that an authority of ours has signed and that was in its
 * time then. Anything else is none.
 */
export function peerCertificate(req: ServerRequest): PeerCertificate | undefined {
  const connection = ofRequest(req)
  if (connection === undefined) return undefined
  if (connection.peer === undefined) connection.peer = verifiedPeer(connection.socket) ?? null
  return connection.peer ?? undefined
}

/**
 * Notes who was authenticated by a request, for its connection: one of somebody known may be idle longer than a
 * stranger's. False when that user has its share of all connections already; a user that is `isExempt` has no share.
 */
export const ownConnection = (req: ServerRequest, user: string, isExempt: boolean): boolean =>
  ofRequest(req)?.claim(user, isExempt) ?? true

/** The address the connection comes from, undefined once it is closed. */
export function remoteAddress(req: ServerRequest): string | undefined {
  const socket =
    req instanceof Http2ServerRequest ? req.stream.session?.socket : (req as unknown as { socket: TLSSocket }).socket
  return socket?.remoteAddress
}

/** Whether the answer goes over HTTP/2, where `Connection` and `Transfer-Encoding` headers are not allowed. */
export const isHttp2 = (res: ServerAnswer): boolean => res instanceof Http2ServerResponse
