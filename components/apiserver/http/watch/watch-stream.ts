import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../../pkg/client/client.ts"
import type { Value } from "../../../../pkg/metrics/registry.ts"
import { chunkedBody } from "../../../../pkg/runtime/http/chunked-body.ts"
import type { DirectSocket } from "../../../../pkg/runtime/http/direct-socket.ts"
import type { ServerAnswer } from "../../../../pkg/runtime/http/server-request.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { drained } from "../../../../pkg/runtime/http/pass-on.ts"
import type { WatchBatch, WatchFrame } from "../../call/frame.ts"
import type { WatchSink } from "../../call/request.ts"
import type { Exchange } from "../../call/exchange.ts"
import { InitialEvents, MAX_BEHIND_BYTES, type Outlet } from "./initial-events.ts"
import type { FrameEncoder } from "./watch.ts"

interface WatchStreamContext {
  /** Counts the events that are sent. */
  readonly events: Value
  readonly clock: Pick<Clock, "afterTurn">
  /** Answers with the error, while the head of the response has not been sent. */
  refuse(error: ApiError): void
  /** Called when all that the watch began with has been written. */
  readonly listed?: (() => void) | undefined
}

/**
 * Writes the frames of a watch into the body of a response, as HTTP/1.1 chunks or HTTP/2 data: one write for all frames
 * of a commit. Initial events may be thousands, so they are written in parts, between which other requests are served.
 */
export class WatchStream implements WatchSink {
  private readonly exchange: Exchange
  private readonly encoder: FrameEncoder
  private readonly events: Value
  private readonly clock: Pick<Clock, "afterTurn">
  /**
   * The socket of an HTTP/1.1 connection; undefined for other connections. An event to thousands of watchers reads
   * little more than this field of each: memory access dominates its cost.
   */
  private chunks: DirectSocket | undefined
  private behind = false
  /** What the watch begins with, until it is written, and what came meanwhile. */
  private first: InitialEvents | undefined
  /** The error with which the watch has to end once `first` is written; null for none. */
  private ending: ApiError | null | undefined
  /** The watch may still be refused. */
  private isWaiting = false
  private readonly refuse: WatchStreamContext["refuse"]
  private listed: WatchStreamContext["listed"]
  constructor(exchange: Exchange, encoder: FrameEncoder, { events, clock, refuse, listed }: WatchStreamContext) {
    this.exchange = exchange
    this.encoder = encoder
    this.events = events
    this.clock = clock
    this.refuse = refuse
    this.listed = listed
  }

  wait(): void {
    this.isWaiting = true
  }

  opened(): void {
    this.isWaiting = false
    this.begin()
  }

  /** Sends the head of the response at once, so that the client knows that the watch is open. */
  begin(): void {
    const { res } = this.exchange
    if (this.isWaiting || res.headersSent || res.destroyed) return
    res.writeHead(200, this.exchange.headers(this.encoder.contentType))
    // An empty write makes Node send the head.
    res.write("")
  }

  sendFirst(frames: Iterable<WatchFrame>, failed: (err: unknown) => void): void {
    let waiting: Promise<void> | undefined
    const outlet: Outlet = {
      write: (batch) => {
        this.write(batch)
        const { chunks } = this
        waiting = chunks === undefined ? this.readingOf(this.exchange.res) : chunks.reading()
      },
      full: () => waiting,
      isOver: () => this.isOver(),
      failed,
      done: (how) => {
        this.first = undefined
        if (how === "written") this.listed?.()
        this.listed = undefined
        if (how === "cut") this.behind = true
        if (how === "cut" || this.ending !== undefined) this.finish(this.ending ?? undefined)
      },
    }
    this.first = new InitialEvents(frames, outlet, this.clock)
    this.first.begin()
  }

  send(batch: WatchBatch): boolean {
    return this.first === undefined ? this.write(batch) : this.first.add(batch)
  }

  private write(batch: WatchBatch): boolean {
    this.chunks ??= this.openedSocket()
    const { chunks, encoder } = this
    if (chunks === undefined && this.isOver()) return false
    this.events.inc(batch.frames.length)
    const bytes = chunks === undefined ? encoder.body(batch) : encoder.chunk(batch)
    const waiting = chunks === undefined ? this.written(bytes) : chunks.write(bytes)
    this.behind = waiting > MAX_BEHIND_BYTES
    return !this.behind
  }

  private isOver(): boolean {
    const { res } = this.exchange
    return res.destroyed || res.writableEnded
  }

  /** Returns the number of bytes that wait for the client. */
  private written(bytes: Uint8Array): number {
    const { res } = this.exchange
    res.write(bytes)
    return res.writableLength
  }

  private openedSocket(): DirectSocket | undefined {
    const { req, res } = this.exchange
    this.isWaiting = false
    this.begin()
    return chunkedBody(req, res)
  }

  end(error: ApiError | undefined): void {
    if (this.isWaiting && error !== undefined) return this.refuse(error)
    this.isWaiting = false
    this.begin()
    this.ending = error ?? null
    if (this.first === undefined) this.finish(error)
    else this.first.end()
  }

  private finish(error: ApiError | undefined): void {
    const { res } = this.exchange
    if (this.isOver()) return
    // An orderly end would wait until the client has read everything.
    if (this.behind) res.destroy()
    else if (error === undefined) res.end()
    else res.end(this.encoder.error(error))
  }

  /** Resolves when a client that is behind has read, or has gone. */
  private readingOf(res: ServerAnswer): Promise<void> | undefined {
    return res.writableNeedDrain ? drained(res) : undefined
  }
}

/** Ends the watch when the client goes away; calls `done` when the response ends for any reason. */
export function tie(watch: Watch, res: ServerAnswer, done: () => void): void {
  const over = () => {
    watch.close()
    done()
  }
  if (res.destroyed || res.writableFinished) over()
  else res.once("close", over)
}
