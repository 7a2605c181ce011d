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
import { sentDirectly } from "./direct-answer.ts"
import { allowDirectResponses } from "./direct-response.ts"
import { Http2Response } from "./http2-response.ts"
import { beginListening } from "./begin-listening.ts"
import type { ServerRequest, ServerAnswer } from "./server-request.ts"
import { ChosenCertificates, type CertificateChoice } from "./certificate-choice.ts"
import { DEFAULT_TLS_PROFILE, type TlsProfile } from "./tls-profile.ts"
import { trustingOnly } from "../../pki/trust.ts"
import { orClose } from "../../failure/or-close.ts"

export interface Certificates {
  /** PEM: the serving certificate, with intermediates, and its key. */
  readonly cert: string
  readonly key: string
  /** The authorities whose client certificates are accepted, as a bundle of PEM. */
  readonly clientCa: string
}

export interface ListenOptions extends Certificates {
  readonly host: string
  /** 0: the kernel chooses a free port, which is in `port` of the result. */
  readonly port: number
  readonly onRequest: (req: ServerRequest, res: ServerAnswer) => void
  /**
   * Handles a request with `Connection: Upgrade`, of HTTP/1.1 only. The function owns the socket from then on. Without
   * it such requests are answered with 400.
   */
  readonly onUpgrade?: (req: ServerRequest, socket: Duplex, head: Buffer) => void
  /** By default upstream's times, and as many connections as the limit of open files allows. */
  readonly limits?: Partial<ConnectionLimits>
  /** TLS 1.2 and 1.3 with the ciphers of the library, unless given. */
  readonly tlsProfile?: TlsProfile | undefined
  /** Certificates for clients that ask for a name; the usual one for everybody unless given. */
  readonly choice?: CertificateChoice | undefined
}

export interface Listener {
  readonly port: number
  /** Sets the certificates of new connections. Open connections keep theirs. */
  setCertificates(certificates: Certificates): void
  /** Closes the connections whose client certificate satisfies `isOut`, with the requests in progress on them. */
  cutPeers(isOut: (peer: PeerCertificate) => boolean): void
  /**
   * From now on every HTTP/1.1 response tells its client that the connection closes after it; new connections are still
   * accepted. So most connections are closed while no request is in progress on them.
   */
  announceEnd(): void
  /**
   * Accepts no more connections, lets requests in progress finish (GOAWAY, `Connection: close`) for `graceMs`, then
   * closes what is left. Idle connections of HTTP/1.1 are closed after `lingerMs`, by default at once: until then a
   * client that does not know of the end, and sends a request, gets its response.
   */
  stop(options?: { graceMs?: number; lingerMs?: number }): Promise<void>
}

/**
 * After this many milliseconds of silence TCP keep-alive probes are sent. Source: apiserver
 * pkg/server/secure_serving.go.
 */
const PROBE_AFTER_MS = 180_000
/**
 * The number of streams that a client may have open on one connection; Go's clients open another connection for more.
 * Source: secure_serving.go.
 */
const MAX_STREAMS = 100

/**
 * The most bytes of the first line and the headers of a request. The first line has the command of `kubectl exec`. Go's
 * servers take 1 MiB; here thousands of strangers at once, each with half a head, must not fill the memory.
 */
const MAX_HEAD_BYTES = 64 * 1024

/** Starts listening. Rejects with an error that names the address and the cause. */
export async function listenTls(options: ListenOptions): Promise<Listener> {
  const { host, port, onRequest, onUpgrade } = options
  const limits: ConnectionLimits = { ...defaultLimits(), ...options.limits }
  const connections = new Connections(limits)
  /** Whether responses say that their connection closes. */
  let ending = false
  let stopping = false
  let lingering = false

  const http1 = createHttp1({ maxHeaderSize: MAX_HEAD_BYTES }, (req, res: ServerResponse) => {
    const connection = connections.of(req.socket as TLSSocket)
    connections.began(connection, res)
    const release = holdBack(req)
    if (ending) res.shouldKeepAlive = false
    res.once("close", () => {
      release()
      connections.ended(connection, res, isLate(req))
    })
    orClose(
      () => res.destroy(),
      () => onRequest(req, res),
    )
  })
  // Bun does not enforce this timeout, `connections` does; it is set because clients are told it.
  http1.keepAliveTimeout = limits.idleMs
  http1.on("clientError", (_err, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    else socket.destroy()
  })
  http1.on("upgrade", (req, socket, head) => {
    connections.of(socket as TLSSocket).upgraded = true
    const close = () => void socket.destroy()
    if (onUpgrade !== undefined) orClose(close, () => onUpgrade(req, socket, head))
    else socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
  })

  const settings = { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEAD_BYTES }
  const http2 = createHttp2({ settings, Http2ServerResponse: Http2Response }, (req, res) => {
    const connection = ofSession(req)
    if (connection !== undefined) {
      connections.began(connection, res)
      res.once("close", () => connections.ended(connection, res, false))
    }
    // A stream that the client resets is not an error of the server: `close` of the response tells its writer.
    req.stream.on("error", () => {})
    orClose(
      () => req.stream.destroy(),
      () => onRequest(req, res),
    )
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
    ...trustingOnly(certificates.clientCa),
    requestCert: true,
    // clients may authenticate in other ways; `peerCertificate` returns verified certificates only
    rejectUnauthorized: false,
    ...(options.tlsProfile ?? DEFAULT_TLS_PROFILE),
  })
  const { choice } = options
  const chosen = choice === undefined ? undefined : new ChosenCertificates(choice, secure(options))
  const tls = {
    ...secure(options),
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: limits.headMs,
    ...(chosen === undefined ? {} : { SNICallback: chosen.onName }),
  }
  const server = createTls(tls, (socket) => {
    const connection = connections.of(socket)
    connection.isSecure = true
    socket.on("error", () => socket.destroy()) // the other side has closed the connection
    socket.setNoDelay(true)
    socket.setKeepAlive(true, PROBE_AFTER_MS)
    // The connection was still in its handshake when `stop` was called. An HTTP/2 session was sent GOAWAY above.
    if (stopping && !lingering && socket.alpnProtocol !== "h2") socket.end()
    else if (socket.alpnProtocol === "h2") {
      arriving = connection
      http2.emit("connection", socket)
      arriving = undefined
    } else {
      allowDirectResponses(socket, limits.idleMs)
      http1.emit("connection", socket)
    }
  })
  // Under Bun the argument is the TLS socket, before its handshake.
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
    setCertificates(certificates) {
      server.setSecureContext(secure(certificates))
      chosen?.setUsual(secure(certificates))
    },
    cutPeers: (isOut) => connections.cutPeers(isOut),
    announceEnd() {
      ending = true
    },
    async stop({ graceMs = 0, lingerMs = 0 } = {}) {
      ending = stopping = true
      lingering = lingerMs > 0
      // resolves when every connection is closed
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
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
 * Sends a whole response at once: the fast way for a body that is complete. A response that is sent before the end of a
 * large request body says that the connection closes, so that the client sends no other request on it.
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
    // node:http would destroy the socket at once, and the reset would discard the response, because the client is still
    // sending. `connections` closes the socket after the client had time to read.
    res.req.socket.destroySoon = () => undefined
  }
  if (sentDirectly(res, status, headers, body, length)) return
  const isShort = length <= MOST_CORKED_BYTES
  // Bun writes head and body separately, each as a TLS record and with a system call: a corked socket writes both as
  // one.
  const socket = res instanceof ServerResponse && isShort ? res.socket : null
  socket?.cork()
  try {
    res.writeHead(status, { ...headers, "content-length": String(length) })
    res.end(isShort && typeof body !== "string" ? asBuffer(body) : body)
  } finally {
    socket?.uncork()
  }
}

/**
 * Returns the bytes as a Buffer. A stream converts other bytes itself, and so makes an ArrayBuffer, which stays in
 * memory with the stored object.
 */
function asBuffer(body: Uint8Array): Buffer {
  if (Buffer.isBuffer(body)) return body
  const copy = Buffer.allocUnsafe(body.byteLength)
  copy.set(body)
  return copy
}

/** From about twice this size on, copying the body behind the head would cost more than a second system call. */
const MOST_CORKED_BYTES = 32 * 1024

/**
 * When a response is sent before the whole request body has arrived, the rest of the body is read and dropped, so that
 * the connection can be reused: up to this many bytes. Source: Go net/http maxPostHandlerReadBytes.
 */
const MOST_DROPPED_BYTES = 256 * 1024

/**
 * Returns whether a large part of a request's body has not arrived, or may not have: the server does not wait for it.
 */
function isLate({ complete, headers }: ServerRequest): boolean {
  return (
    !complete &&
    (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MOST_DROPPED_BYTES)
  )
}

/**
 * Stops receiving the body of a request that was answered before its end. Over HTTP/2 the stream would otherwise stay
 * open for as long as the client likes; over HTTP/1.1 the listener closes the connection. Source: RFC 9113, 8.1
 * (RST_STREAM with NO_ERROR).
 */
export function stopReceiving(req: ServerRequest, res: ServerAnswer): void {
  if (req instanceof Http2ServerRequest && !req.complete && res.writableEnded && !req.stream.endAfterHeaders)
    req.stream.close(constants.NGHTTP2_NO_ERROR)
}

const ofSession = (req: Http2ServerRequest): Connection | undefined =>
  req.stream.session === undefined ? undefined : connectionOf(req.stream.session)

/** Returns the connection that a request came on, while that is open. */
const ofRequest = (req: ServerRequest): Connection | undefined =>
  req instanceof Http2ServerRequest ? ofSession(req) : connectionOf((req as unknown as { socket: TLSSocket }).socket)

/**
 * Returns the client's certificate, if an authority of the listener has signed it and it was in its validity period
 * when the connection began; undefined otherwise.
 */
export function peerCertificate(req: ServerRequest): PeerCertificate | undefined {
  const connection = ofRequest(req)
  if (connection === undefined) return undefined
  if (connection.peer === undefined) connection.peer = verifiedPeer(connection.socket) ?? null
  return connection.peer ?? undefined
}

/**
 * Records on a request's connection which user it authenticated: such a connection may be idle longer than a
 * stranger's. Returns false when that user has used up its share of all connections; a user that is `isExempt` has no
 * share.
 */
export const ownConnection = (req: ServerRequest, user: string, isExempt: boolean): boolean =>
  ofRequest(req)?.claim(user, isExempt) ?? true

/** Returns the client's IP address; undefined once the connection is closed. */
export function remoteAddress(req: ServerRequest): string | undefined {
  const socket =
    req instanceof Http2ServerRequest ? req.stream.session?.socket : (req as unknown as { socket: TLSSocket }).socket
  return socket?.remoteAddress
}

/** Whether the response goes over HTTP/2, where `Connection` and `Transfer-Encoding` headers are not allowed. */
export const isHttp2 = (res: ServerAnswer): boolean => res instanceof Http2ServerResponse
