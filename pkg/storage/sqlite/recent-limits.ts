import type { Clock, Timer } from "../../clock/clock.ts"
import type { RecentEvents } from "../recent-events.ts"
import type { StorageEvent } from "../storage.ts"

/**
 * The number of events that are kept in memory for watches that resume from a recent revision. Older events are read
 * from the file.
 */
const MOST = 2048
/**
 * The size of the JSON of the events in memory, so that a large object that changes often does not fill it with old
 * states.
 */
const MOST_BYTES = 16 * 1024 * 1024
/** Events are dropped from memory after this time, and at the latest after twice this time, in milliseconds. */
const LONGEST_MS = 30_000

/** Drops events from memory when they are too many, too large or too old; the file still has them. */
export class RecentLimits {
  readonly #clock: Clock
  readonly #recent: RecentEvents
  /** The size of the JSON of the events in memory, in bytes. */
  #bytes = 0
  #timer: Timer | undefined

  constructor(clock: Clock, recent: RecentEvents) {
    this.#clock = clock
    this.#recent = recent
  }

  /** Called when the events of a commit were added to `recent`. */
  added(writes: readonly { readonly event: StorageEvent }[]): void {
    for (const { event } of writes) this.#bytes += event.stored.json.length
    // Trims only when a limit is exceeded by half, so that the cost for each write is small.
    if (this.#recent.all.length > 1.5 * MOST || this.#bytes > 1.5 * MOST_BYTES) this.#trim()
    this.#trimLater()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Keeps the events after revision `after`, newest first, up to the limits of their number and size. */
  #trim(after = 0): void {
    const recent = this.#recent
    let [bytes, kept] = [0, 0]
    for (const { stored, revision } of recent.all.toReversed()) {
      if (kept === MOST || bytes + stored.json.length > MOST_BYTES || revision <= after) break
      bytes += stored.json.length
      kept++
    }
    recent.keepNewest(kept)
    this.#bytes = bytes
  }

  /** Drops events once they are old, so that the writes of a busy time do not stay in memory afterwards. */
  #trimLater(): void {
    const recent = this.#recent
    const newest = recent.all.at(-1)?.revision ?? 0
    this.#timer ??= this.#clock.setTimeout(
      () => {
        this.#timer = undefined
        this.#trim(newest)
        if (recent.all.length > 0) this.#trimLater()
      },
      LONGEST_MS,
      "upkeep",
    )
  }
}
