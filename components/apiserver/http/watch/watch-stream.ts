import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../../pkg/client/client.ts"
import type { Value } from "../../../../pkg/metrics/registry.ts"
import { chunkedBody } from "../../../../pkg/runtime/http/chunked-body.ts"
import type { DirectSocket } from "../../../../pkg/runtime/http/direct-socket.ts"
import type { ServerAnswer } from "../../../../pkg/runtime/http/server-request.ts"
import type { WatchBatch } from "../../cacher/frame.ts"
import type { WatchSink } from "../../request.ts"
import type { Exchange } from "../exchange.ts"
import type { FrameEncoder } from "./watch.ts"

/**
 * Most bytes that wait for a slow client. Beyond it the watch is closed, and the client resumes or lists again. The
 * initial events may be larger than this and do not count.
 */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024

/**
 * Writes the frames of a watch into the body of a response, as HTTP/1.1 chunks or HTTP/2 data: one write for all frames
 * of a commit.
 */
export class WatchStream implements WatchSink {
  private readonly exchange: Exchange
  private readonly encoder: FrameEncoder
  private readonly events: Value
  /**
   * The socket of an HTTP/1.1 connection; undefined for other connections. An event to thousands of watchers reads
   * little more than this field of each: memory access dominates its cost.
   */
  private chunks: DirectSocket | undefined
  private allowed: number | undefined
  private behind = false
  constructor(exchange: Exchange, encoder: FrameEncoder, events: Value) {
    this.exchange = exchange
    this.encoder = encoder
    this.events = events
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
    this.chunks ??= this.opened()
    const { chunks, encoder } = this
    if (chunks === undefined && this.isOver()) return false
    this.events.inc(batch.frames.length)
    const bytes = chunks === undefined ? encoder.body(batch) : encoder.chunk(batch)
    this.allowed ??= bytes.length
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
