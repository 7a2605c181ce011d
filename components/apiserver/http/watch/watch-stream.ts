import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../../pkg/client/client.ts"
import type { Value } from "../../../../pkg/metrics/registry.ts"
import { chunkedBody } from "../../../../pkg/runtime/http/chunked-body.ts"
import type { DirectSocket } from "../../../../pkg/runtime/http/direct-socket.ts"
import type { ServerAnswer } from "../../../../pkg/runtime/http/server-request.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { WatchBatch } from "../../cacher/frame.ts"
import type { WatchSink } from "../../request.ts"
import type { Exchange } from "../exchange.ts"
import type { FrameEncoder } from "./watch.ts"

/**
 * Most bytes that wait for a slow client. Beyond it the watch is closed, and the client resumes or lists again. The
 * initial events may be larger than this and do not count.
 */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024

/** The initial events that are encoded and written in one turn: some milliseconds of work. */
const FRAMES_OF_TURN = 100

interface WatchStreamContext {
  /** Counts the events that are sent. */
  readonly events: Value
  readonly clock: Pick<Clock, "afterTurn">
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
  /** Bytes of the initial events. */
  private allowed = 0
  private behind = false
  /** The rest of the initial events, and what came after them; undefined when nothing waits for its turn. */
  private waiting: WatchBatch[] | undefined
  constructor(exchange: Exchange, encoder: FrameEncoder, { events, clock }: WatchStreamContext) {
    this.exchange = exchange
    this.encoder = encoder
    this.events = events
    this.clock = clock
  }

  /** Sends the head of the response at once, so that the client knows that the watch is open. */
  begin(): void {
    const { res } = this.exchange
    if (res.headersSent || res.destroyed) return
    res.writeHead(200, this.exchange.headers(this.encoder.contentType))
    // An empty write makes Node send the head.
    res.write("")
  }

  send(batch: WatchBatch): boolean {
    if (this.waiting !== undefined) {
      this.waiting.push(batch)
      return true
    }
    if (!batch.isInitial || batch.frames.length <= FRAMES_OF_TURN) return this.write(batch)
    const [first, ...rest] = partsOf(batch)
    this.waiting = rest
    this.clock.afterTurn(() => this.writeWaiting())
    return this.write(first!)
  }

  private writeWaiting(): void {
    const next = this.isOver() ? undefined : this.waiting?.shift()
    if (next === undefined) {
      this.waiting = undefined
      return
    }
    if (this.write(next)) return this.clock.afterTurn(() => this.writeWaiting())
    this.waiting = undefined
    this.end(undefined)
  }

  private write(batch: WatchBatch): boolean {
    this.chunks ??= this.opened()
    const { chunks, encoder } = this
    if (chunks === undefined && this.isOver()) return false
    this.events.inc(batch.frames.length)
    const bytes = chunks === undefined ? encoder.body(batch) : encoder.chunk(batch)
    if (batch.isInitial) this.allowed += bytes.length
    const waiting = chunks === undefined ? this.written(bytes) : chunks.write(bytes)
    this.behind = waiting > MAX_BEHIND_BYTES + this.allowed
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

  private opened(): DirectSocket | undefined {
    const { req, res } = this.exchange
    this.begin()
    return chunkedBody(req, res)
  }

  end(error: ApiError | undefined): void {
    this.begin()
    const { res } = this.exchange
    if (this.isOver()) return
    for (const batch of this.waiting ?? []) if (this.behind || !this.write(batch)) break
    this.waiting = undefined
    // An orderly end would wait until the client has read everything.
    if (this.behind) res.destroy()
    else if (error === undefined) res.end()
    else res.end(this.encoder.error(error))
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

const partsOf = ({ frames, isInitial }: WatchBatch): WatchBatch[] =>
  Array.from(
    { length: Math.ceil(frames.length / FRAMES_OF_TURN) },
    (_, i) => new WatchBatch(frames.slice(i * FRAMES_OF_TURN, (i + 1) * FRAMES_OF_TURN), isInitial),
  )
