import { Buffer } from "node:buffer"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../pkg/client/client.ts"
import { chunkedBody, chunkOf, type ServerAnswer } from "../../../pkg/runtime/listen.ts"
import type { WatchFrame } from "../cacher/frame.ts"
import type { WatchSink } from "../request.ts"
import type { Exchange } from "./exchange.ts"
import type { FrameEncoder } from "./watch.ts"

/**
 * A client that reads so much slower than events come is cut off, and resumes or lists again: its memory is ours.
 * The first frames (all there is, when asked for) may be larger than this and do not count.
 */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024

/** Writes a watch's frames into the body of an answer: HTTP/1.1 chunks or HTTP/2 data, one write for all the frames of a commit. */
export class WatchStream implements WatchSink {
  private readonly exchange: Exchange
  private readonly encoder: FrameEncoder
  private readonly onEvents: (count: number) => void
  private allowed: number | undefined
  private behind = false
  constructor(exchange: Exchange, encoder: FrameEncoder, onEvents: (count: number) => void) {
    this.exchange = exchange
    this.encoder = encoder
    this.onEvents = onEvents
  }

  /** Sends the head of the answer at once, so that the client knows the watch is open though nothing happens. */
  begin(): void {
    const { res } = this.exchange
    if (res.headersSent || res.destroyed) return
    res.writeHead(200, this.exchange.headers(this.encoder.contentType))
    // An empty write makes Node send the head.
    res.write("")
  }

  send(frames: readonly WatchFrame[]): boolean {
    const { encoder } = this
    const { req, res } = this.exchange
    if (res.destroyed || res.writableEnded) return false
    this.begin()
    const bytes = frames.length === 1 ? encoder.frame(frames[0]!) : Buffer.concat(frames.map((frame) => encoder.frame(frame)))
    this.allowed ??= bytes.length
    this.onEvents(frames.length)
    const connection = chunkedBody(req, res)
    if (connection === undefined) res.write(bytes)
    else connection.write(chunkOf(bytes))
    this.behind = (connection ?? res).writableLength > MAX_BEHIND_BYTES + this.allowed
    return !this.behind
  }

  end(error: ApiError | undefined): void {
    this.begin()
    const { res } = this.exchange
    if (res.destroyed || res.writableEnded) return
    // An orderly end would wait behind all that the client does not read.
    if (this.behind) res.destroy()
    else if (error === undefined) res.end()
    else res.end(this.encoder.error(error))
  }
}

/** Ends the watch when the client is gone, and tells `done` when the answer is over for whatever reason. */
export function tie(watch: Watch, res: ServerAnswer, done: () => void): void {
  const over = () => {
    watch.close()
    done()
  }
  if (res.destroyed || res.writableFinished) over()
  else res.once("close", over)
}
