import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import type { Socket } from "node:net"
import type { Exchange } from "../proxy/exchange.ts"
import type { Origin } from "../messages/fields.ts"
import type { Downstream, IncomingRequest } from "../messages/messages.ts"
import { LONGEST_HEAD, type HeadRoom } from "../long-heads.ts"
import type { Watchdog, Watched } from "../proxy/watchdog.ts"
import { serveStream } from "./server-stream.ts"
import { orClose } from "../../../pkg/failure/or-close.ts"

export interface SessionsParts {
  readonly watchdog: Watchdog
  readonly headMs: number
  readonly idleMs: number
  readonly begin: (request: IncomingRequest, client: Downstream) => Exchange
  readonly refused: (status: number) => void
  /** Returns the part of the memory for long heads of one request. */
  readonly roomOf: (origin: Origin) => HeadRoom
}

const MOST_STREAMS = 100
/** Browsers send each cookie as a field of its own. Source: RFC 9113, 8.2.3. */
const MOST_FIELDS = 400
/** How many more requests a client may cancel than it finishes; beyond that it only causes work (CVE-2023-44487). */
const MOST_RESETS = 200

/** The clients' HTTP/2 connections. */
export class Sessions {
  readonly #open = new Set<Session>()
  readonly #server = createServer({
    settings: { maxConcurrentStreams: MOST_STREAMS, maxHeaderListSize: LONGEST_HEAD },
    maxHeaderListPairs: MOST_FIELDS,
  })
  /** The connection that is handed over in this turn. */
  #arriving: { readonly socket: Socket; readonly origin: Origin } | undefined
  #isStopping = false

  constructor(parts: SessionsParts) {
    this.#server.on("session", (session) => {
      if (this.#arriving === undefined || this.#isStopping) return session.destroy()
      const opened = new Session(session, this.#arriving.origin, parts)
      this.#open.add(opened)
      session.once("close", () => this.#open.delete(opened))
    })
  }

  /** Serves a connection that has agreed on HTTP/2, or begins with it. */
  serve(socket: Socket, origin: Origin): void {
    this.#arriving = { socket, origin }
    this.#server.emit("connection", socket)
    this.#arriving = undefined
    socket.resume()
  }

  /** Accepts no more requests; those in progress continue. */
  stop(): void {
    this.#isStopping = true
    for (const session of this.#open) session.close()
  }
}

class Session implements Watched {
  due = Infinity
  place = -1
  readonly #session: ServerHttp2Session
  readonly #parts: SessionsParts
  #streams = 0
  #resets = 0

  constructor(session: ServerHttp2Session, origin: Origin, parts: SessionsParts) {
    this.#session = session
    this.#parts = parts
    parts.watchdog.add(this, parts.headMs)
    session.on("error", () => session.destroy())
    session.once("close", () => parts.watchdog.remove(this))
    session.on("stream", (stream, headers) => {
      this.#began(stream)
      orClose(
        () => stream.destroy(),
        () => serveStream(stream, headers, origin, parts),
      )
    })
  }

  close(): void {
    this.#session.close()
  }

  overdue(): void {
    this.#session.destroy()
  }

  #began(stream: ServerHttp2Stream): void {
    this.#streams++
    this.#parts.watchdog.expect(this, Infinity)
    stream.once("close", () => {
      if (--this.#streams === 0) this.#parts.watchdog.expect(this, this.#parts.idleMs)
      this.#resets = stream.aborted ? this.#resets + 1 : Math.max(0, this.#resets - 1)
      if (this.#resets > MOST_RESETS) this.#session.destroy()
    })
  }
}
