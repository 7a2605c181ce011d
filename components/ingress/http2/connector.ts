import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2"
import type { Field, Framing } from "../http1/head.ts"
import {
  hasBody,
  type Endpoint,
  type OutgoingRequest,
  type Upstream,
  type UpstreamHandlers,
} from "../proxy/messages.ts"
import type { Watchdog, Watched } from "../proxy/watchdog.ts"
import { cutOff, headersOf, sendTrailers, trailersOf } from "./server-stream.ts"

const IDLE_MS = 30_000
/** The most concurrent requests on one connection; more open another connection. */
const MOST_STREAMS = 100

/** An HTTP/2 connection to a backend, which handles many requests at once. */
class Session implements Watched {
  due = Infinity
  place = -1
  readonly session: ClientHttp2Session
  readonly #watchdog: Watchdog
  isConnected = false
  streams = 0
  /** Whether it has handled a request. */
  isUsed = false

  constructor(session: ClientHttp2Session, watchdog: Watchdog) {
    this.session = session
    this.#watchdog = watchdog
    watchdog.add(this, Infinity)
    session.once("close", () => watchdog.remove(this))
  }

  get isFree(): boolean {
    const most = Math.min(MOST_STREAMS, this.session.remoteSettings?.maxConcurrentStreams ?? MOST_STREAMS)
    return this.isConnected && !this.session.closed && !this.session.destroyed && this.streams < most
  }

  began(): void {
    this.streams++
    this.#watchdog.expect(this, Infinity)
  }

  ended(): void {
    this.isUsed = true
    if (--this.streams === 0) this.#watchdog.expect(this, IDLE_MS)
  }

  overdue(): void {
    this.session.close()
  }
}

/**
 * HTTP/2 connections to backends, such as gRPC servers. With TLS, certificates are not verified, as over HTTP/1.1.
 */
export class Http2Connector {
  readonly #watchdog: Watchdog
  /** By protocol and endpoint. */
  readonly #sessions = new Map<string, Set<Session>>()

  constructor(watchdog: Watchdog) {
    this.#watchdog = watchdog
  }

  connect(endpoint: Endpoint, protocol: "h2c" | "h2", connected: (result: Upstream | Error) => void): () => void {
    const key = `${protocol} ${endpoint.key}`
    const known = this.#sessions.get(key)
    if (known !== undefined)
      for (const session of known) {
        if (!session.isFree) continue
        connected(new ClientStream(session))
        return () => undefined
      }
    const url = `${protocol === "h2" ? "https" : "http"}://${endpoint.key}`
    const opened = new Session(connect(url, { rejectUnauthorized: false }), this.#watchdog)
    const { session } = opened
    this.#keep(key, opened)
    let isSettled = false
    const settle = (result: Upstream | Error) => {
      if (isSettled) return
      isSettled = true
      connected(result)
    }
    session.once("connect", () => {
      opened.isConnected = true
      if (!isSettled) settle(new ClientStream(opened))
    })
    session.on("error", (err: NodeJS.ErrnoException) => {
      settle(new Error(`no connection to an endpoint: ${err.code ?? err.message}`))
      session.destroy()
    })
    session.once("close", () => settle(new Error("no connection to an endpoint")))
    return () => {
      isSettled = true
      session.destroy()
    }
  }

  stop(): void {
    for (const sessions of this.#sessions.values()) for (const { session } of sessions) session.destroy()
    this.#sessions.clear()
  }

  #keep(key: string, opened: Session): void {
    let sessions = this.#sessions.get(key)
    if (sessions === undefined) this.#sessions.set(key, (sessions = new Set()))
    sessions.add(opened)
    opened.session.once("close", () => {
      sessions.delete(opened)
      if (sessions.size === 0 && this.#sessions.get(key) === sessions) this.#sessions.delete(key)
    })
  }
}

/** One request on an HTTP/2 connection. */
class ClientStream implements Upstream {
  readonly isReused: boolean
  readonly #session: Session
  #stream: ClientHttp2Stream | undefined
  #handlers: UpstreamHandlers | undefined
  #trailers: readonly Field[] = []
  #wantsTrailers = false
  #isReleased = false
  #isAnswered = false
  /** Bytes of the answer's body that must still come; undefined for any number. Before the head there may be none. */
  #left: number | undefined = 0

  constructor(session: Session) {
    this.#session = session
    this.isReused = session.isUsed
    session.began()
  }

  send({ method, target, authority, fields, framing, isSecure }: OutgoingRequest, handlers: UpstreamHandlers): void {
    this.#handlers = handlers
    const headers = {
      ...headersOf(fields),
      ":method": method,
      ":path": target,
      ":authority": authority,
      ":scheme": isSecure ? "https" : "http",
      ...(framing.kind === "length" && hasBody(framing) ? { "content-length": String(framing.length) } : {}),
    }
    this.#wantsTrailers = framing.kind === "chunked"
    const options = { endStream: !hasBody(framing), waitForTrailers: this.#wantsTrailers }
    let stream: ClientHttp2Stream
    try {
      stream = this.#session.session.request(headers, options)
    } catch {
      this.#release()
      return this.#fail("the request cannot be sent over HTTP/2")
    }
    this.#stream = stream
    let received: readonly Field[] = []
    stream.on("wantTrailers", () => sendTrailers(stream, this.#trailers))
    stream.on("response", (answer, flags) =>
      this.#respond(answer, method, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0),
    )
    stream.on("data", (chunk: Buffer) => {
      if (this.#left !== undefined && (this.#left -= chunk.length) < 0) return this.#reject()
      this.#handlers?.data(chunk)
      this.#handlers?.flush()
    })
    stream.on("trailers", (trailers) => (received = trailersOf(trailers)))
    stream.on("end", () => {
      // A stream that was reset has not ended properly.
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && stream.rstCode !== undefined) return
      if (!this.#isAnswered || (this.#left ?? 0) > 0) this.#reject()
      else this.#complete(received)
    })
    stream.on("drain", () => this.#handlers?.drained())
    stream.on("error", () => undefined)
    stream.once("close", () => {
      this.#release()
      this.#fail("the endpoint closed the stream")
    })
  }

  flush(): void {}

  write(chunk: Buffer): boolean {
    return this.#stream?.write(chunk) ?? true
  }

  end(trailers: readonly Field[]): void {
    this.#trailers = trailers
    if (this.#stream !== undefined && !this.#stream.writableEnded) this.#stream.end()
  }

  receive(wanted: boolean): void {
    if (wanted) this.#stream?.resume()
    else this.#stream?.pause()
  }

  abort(): void {
    if (this.#stream === undefined) return this.#release()
    if (this.#handlers === undefined && this.#stream.writableEnded) return
    this.#handlers = undefined
    cutOff(this.#stream)
  }

  /** Gives the place on the session back, once. */
  #release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#session.ended()
  }

  #respond(
    answer: IncomingHttpHeaders & { readonly ":status"?: number | undefined },
    method: string,
    isEnd: boolean,
  ): void {
    const status = Number(answer[":status"] ?? 0)
    const fields = trailersOf(answer)
    const length = answer["content-length"]
    const hasNoBody = isEnd || method === "HEAD" || status === 204 || status === 304
    const framing: Framing = hasNoBody
      ? { kind: "none" }
      : length !== undefined && /^\d{1,15}$/.test(length)
        ? { kind: "length", length: Number(length) }
        : { kind: "chunked" }
    if (status < 200 || status > 999) return this.#reject()
    this.#isAnswered = true
    this.#left = framing.kind === "length" ? framing.length : framing.kind === "none" ? 0 : undefined
    this.#handlers?.head({ status, reason: "", fields, framing, keepAlive: true })
    this.#handlers?.flush()
  }

  #complete(trailers: readonly Field[]): void {
    const handlers = this.#handlers
    this.#handlers = undefined
    handlers?.end(trailers)
  }

  /**
   * Gives up an answer that breaks the protocol. A body that is not as long as its head says would move the border of
   * the client's next answer over HTTP/1.1, which may be that of another backend.
   */
  #reject(): void {
    this.#fail("the endpoint's answer is not understood")
    if (this.#stream !== undefined) cutOff(this.#stream)
  }

  #fail(reason: string): void {
    const handlers = this.#handlers
    this.#handlers = undefined
    handlers?.failed(reason)
  }
}
