import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from "node:http2"
import type { Field, Framing } from "../messages/head.ts"
import {
  hasBody,
  type Endpoint,
  type OutgoingRequest,
  type Upstream,
  type UpstreamHandlers,
} from "../messages/messages.ts"
import type { Watchdog, Watched } from "../proxy/watchdog.ts"
import { cutOff, headersOf, sendTrailers, trailersOf } from "./server-stream.ts"

const IDLE_MS = 30_000
/** The most concurrent requests on one connection; more open another connection. */
const MOST_STREAMS = 100

/** A request that wants a connection. */
interface Waiter {
  readonly connected: (result: Upstream | Error) => void
  /** The connection that it waits for. */
  session: Session | undefined
}

/** An HTTP/2 connection to a backend, which handles many requests at once. */
class Session implements Watched {
  due = Infinity
  place = -1
  readonly session: ClientHttp2Session
  readonly #watchdog: Watchdog
  readonly #waiting = new Set<Waiter>()
  #isConnected = false
  /** Set when the backend has told how many requests it takes at once. */
  #hasSettings = false
  streams = 0
  /** Whether it has handled a request. */
  isUsed = false

  /** `placeAgain` is called for each request that waits while the backend takes no more. */
  constructor(session: ClientHttp2Session, watchdog: Watchdog, placeAgain: (waiter: Waiter) => void) {
    this.session = session
    this.#watchdog = watchdog
    watchdog.add(this, Infinity)
    session.once("connect", () => {
      this.#isConnected = true
      for (const waiter of this.#waiting) if (this.isFree) this.#serve(waiter)
    })
    session.once("remoteSettings", () => {
      this.#hasSettings = true
      for (const waiter of this.#waiting)
        if (this.isFree) this.#serve(waiter)
        else {
          this.#forget(waiter)
          placeAgain(waiter)
        }
    })
    session.on("error", (err: NodeJS.ErrnoException) => {
      this.#fail(err.code ?? err.message)
      session.destroy()
    })
    session.once("close", () => {
      watchdog.remove(this)
      this.#fail()
    })
  }

  /** Until the backend has told how many requests it takes, it gets one. */
  get isFree(): boolean {
    const most = this.#hasSettings
      ? Math.min(MOST_STREAMS, this.session.remoteSettings.maxConcurrentStreams ?? MOST_STREAMS)
      : 1
    return this.#isConnected && this.#isOpen && this.streams < most
  }

  /** Whether requests may wait until the backend has told how many it takes. */
  get mayWait(): boolean {
    return !this.#hasSettings && this.#isOpen && this.streams + this.#waiting.size < MOST_STREAMS
  }

  get #isOpen(): boolean {
    return !this.session.closed && !this.session.destroyed
  }

  wait(waiter: Waiter): void {
    this.#waiting.add(waiter)
    waiter.session = this
  }

  /** Lets a request go that does not want the connection any more. One that nobody else wants is given up. */
  leave(waiter: Waiter): void {
    this.#forget(waiter)
    if (this.streams === 0 && this.#waiting.size === 0 && !this.#isConnected) this.session.destroy()
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

  #serve(waiter: Waiter): void {
    this.#forget(waiter)
    waiter.connected(new ClientStream(this))
  }

  #fail(reason?: string): void {
    for (const waiter of this.#waiting) {
      this.#forget(waiter)
      waiter.connected(new Error(`no connection to an endpoint${reason === undefined ? "" : `: ${reason}`}`))
    }
  }

  #forget(waiter: Waiter): void {
    this.#waiting.delete(waiter)
    waiter.session = undefined
  }
}

/**
 * HTTP/2 connections to backends, such as gRPC servers. With TLS, certificates are not verified, as over HTTP/1.1.
 */
export class Http2Connector {
  readonly #watchdog: Watchdog
  /** By URL. */
  readonly #sessions = new Map<string, Set<Session>>()

  constructor(watchdog: Watchdog) {
    this.#watchdog = watchdog
  }

  /**
   * Calls `connected`, at once or later, with a place on a connection to the endpoint. Returns a function that gives
   * the attempt up.
   */
  connect(endpoint: Endpoint, protocol: "h2c" | "h2", connected: (result: Upstream | Error) => void): () => void {
    const waiter: Waiter = { connected, session: undefined }
    this.#place(`${protocol === "h2" ? "https" : "http"}://${endpoint.key}`, waiter)
    return () => waiter.session?.leave(waiter)
  }

  stop(): void {
    for (const sessions of this.#sessions.values()) for (const { session } of sessions) session.destroy()
    this.#sessions.clear()
  }

  #place(url: string, waiter: Waiter): void {
    const known = [...(this.#sessions.get(url) ?? [])]
    const free = known.find(({ isFree }) => isFree)
    if (free !== undefined) return waiter.connected(new ClientStream(free))
    const session = known.find(({ mayWait }) => mayWait) ?? this.#open(url)
    session.wait(waiter)
  }

  #open(url: string): Session {
    const session = connect(url, { rejectUnauthorized: false })
    const opened = new Session(session, this.#watchdog, (waiter) => this.#place(url, waiter))
    let sessions = this.#sessions.get(url)
    if (sessions === undefined) this.#sessions.set(url, (sessions = new Set()))
    sessions.add(opened)
    session.once("close", () => {
      sessions.delete(opened)
      if (sessions.size === 0 && this.#sessions.get(url) === sessions) this.#sessions.delete(url)
    })
    return opened
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
      // A stream that was reset, with whatever code, has not ended properly: such a stream is destroyed here already.
      if (stream.destroyed) return
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
    this.#fail("the endpoint's response is invalid")
    if (this.#stream !== undefined) cutOff(this.#stream)
  }

  #fail(reason: string): void {
    const handlers = this.#handlers
    this.#handlers = undefined
    handlers?.failed(reason)
  }
}
