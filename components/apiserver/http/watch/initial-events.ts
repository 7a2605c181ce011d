import type { Clock } from "../../../../pkg/clock/clock.ts"
import { WatchBatch, type WatchFrame } from "../../call/frame.ts"

/**
 * Most bytes of events that wait for a slow client. Beyond it the watch is closed, and the client resumes or lists
 * again.
 */
export const MAX_BEHIND_BYTES = 16 * 1024 * 1024

/** The initial events that are encoded and written in one turn: some milliseconds of work. */
const FRAMES_OF_PART = 100
const BYTES_OF_PART = 256 * 1024

/** Where the events of a watch are written. */
export interface Outlet {
  write(batch: WatchBatch): void
  /** Resolves when the client has read enough, or has gone; undefined when more may be written now. */
  full(): Promise<void> | undefined
  /** Whether nothing can be written any more. */
  isOver(): boolean
  /** Called when an event cannot be made or encoded, and no other is written: the watch is to end with that error. */
  failed(err: unknown): void
  /** Called once: all was written (and nothing waits), or the watch has to be cut off. */
  done(how: "written" | "cut"): void
}

/**
 * Writes what a watch begins with, at the pace of the client: frames are made and encoded in parts, each when the
 * client has read the one before. So a client that does not read costs a list of objects, not their bytes. Later events
 * wait behind them, and may be MAX_BEHIND_BYTES.
 *
 * Source of the rule: a watcher of upstream's watch cache whose buffer is full is ended, cacher.go (dispatchEvents).
 */
export class InitialEvents {
  readonly #frames: Iterator<WatchFrame>
  readonly #outlet: Outlet
  readonly #clock: Pick<Clock, "afterTurn">
  #later: WatchBatch[] = []
  #laterBytes = 0
  #isExhausted = false
  #isWaiting = false
  #isEnding = false
  #isDone = false

  constructor(frames: Iterable<WatchFrame>, outlet: Outlet, clock: Pick<Clock, "afterTurn">) {
    this.#frames = frames[Symbol.iterator]()
    this.#outlet = outlet
    this.#clock = clock
  }

  /** Writes the first part. */
  begin(): void {
    this.#writeNext()
  }

  /** Takes an event that came later. Returns false when the client is too far behind. */
  add(batch: WatchBatch): boolean {
    for (const { stored } of batch.frames) this.#laterBytes += stored.json.length
    this.#later.push(batch)
    return this.#laterBytes <= MAX_BEHIND_BYTES
  }

  /** The watch has ended. A client that reads gets the rest, another one is cut off: `done` tells. */
  end(): void {
    this.#isEnding = true
    if (this.#isWaiting || this.#laterBytes > MAX_BEHIND_BYTES) this.#finish("cut")
  }

  #writeNext(): void {
    if (this.#isDone) return
    if (this.#outlet.isOver()) return this.#finish("cut")
    try {
      const part = this.#nextPart()
      if (part === undefined) return this.#finish("written")
      this.#outlet.write(part)
    } catch (err) {
      this.#outlet.failed(err)
      return this.#finish("written")
    }
    if (this.#isExhausted && this.#later.length === 0) return this.#finish("written")
    const read = this.#outlet.full()
    if (read === undefined) return this.#clock.afterTurn(() => this.#writeNext())
    if (this.#isEnding) return this.#finish("cut")
    this.#isWaiting = true
    void read.then(() => {
      this.#isWaiting = false
      this.#clock.afterTurn(() => this.#writeNext())
    })
  }

  #nextPart(): WatchBatch | undefined {
    const part: WatchFrame[] = []
    for (let bytes = 0; part.length < FRAMES_OF_PART && bytes < BYTES_OF_PART;) {
      const { value, done } = this.#frames.next()
      if (done === true) {
        this.#isExhausted = true
        break
      }
      part.push(value)
      bytes += value.stored.json.length
    }
    if (part.length > 0) return new WatchBatch(part)
    const later = this.#later.shift()
    for (const { stored } of later?.frames ?? []) this.#laterBytes -= stored.json.length
    return later
  }

  #finish(how: "written" | "cut"): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#later = []
    this.#outlet.done(how)
  }
}
