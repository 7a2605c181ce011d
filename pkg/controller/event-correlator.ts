/**
 * Decides which events of a reporter become Events of their own: equal events are counted, many events that differ only
 * in their message are combined into one, and too many events about one object are dropped. Source of the rules and
 * numbers: client-go tools/record/events_cache.go, which has a cache for each of these as well.
 */
import { exactKey } from "../cache/exact-key.ts"
import { numberOf, RecentRows } from "../cache/recent-rows.ts"

/** The number of objects, of sorts of events, and of events that are remembered. */
const MOST = 4096
const MAX_SIMILAR = 10
const SIMILAR_WINDOW_MS = 600_000
const SPAM_BURST = 25
const SPAM_REFILL_MS = 300_000

/** An event as the reporter has it. */
export interface ReportedEvent {
  /** The uid of the object. */
  readonly uid: string
  readonly type: string
  readonly reason: string
  readonly fieldPath: string | undefined
  readonly message: string
}

/** The Event that was written for an event: what its name is made of, and how often it has happened. */
export interface WrittenEvent {
  /** When the Event was created, in milliseconds since the epoch, and which one it was. */
  readonly time: number
  readonly sequence: number
  readonly count: number
}

export class EventCorrelator {
  /** For each object: how many more events may be written, and when that was. */
  readonly #objects = new RecentRows(MOST, 2)
  /** For events that differ only in their message: when the last one was, and the numbers of their messages. */
  readonly #similar = new RecentRows(MOST, MAX_SIMILAR)
  /** For each event: see WrittenEvent. */
  readonly #written = new RecentRows(MOST, 3)

  /**
   * Returns the key of the event, which is the same for events that are to be counted together, and the message to
   * write; undefined when there are too many.
   */
  correlate(
    { uid, type, reason, fieldPath = "", message }: ReportedEvent,
    now: number,
  ): { readonly key: number; readonly message: string } | undefined {
    if (!this.#isWithinRate(numberOf(uid), now)) return undefined
    const sort = numberOf(exactKey([uid, type, reason, fieldPath]))
    const key = numberOf(exactKey([uid, type, reason, fieldPath, message]))
    return this.#isOneOfMany(sort, key, now)
      ? { key: sort, message: `(combined from similar events): ${message}` }
      : { key, message }
  }

  /** Returns what was written for an event; undefined if that is not known. */
  written(key: number): WrittenEvent | undefined {
    const row = this.#written.get(key)
    return row && { time: row[0]!, sequence: row[1]!, count: row[2]! }
  }

  /** Remembers what was written for an event. */
  note(key: number, { time, sequence, count }: WrittenEvent): void {
    ;(this.#written.get(key) ?? this.#written.add(key)).set([time, sequence, count])
  }

  #isWithinRate(object: number, now: number): boolean {
    let row = this.#objects.get(object)
    if (row === undefined) (row = this.#objects.add(object)).set([SPAM_BURST, now])
    const tokens = Math.min(SPAM_BURST, row[0]! + (now - row[1]!) / SPAM_REFILL_MS)
    row.set([tokens < 1 ? tokens : tokens - 1, now])
    return tokens >= 1
  }

  /** Returns whether too many other events of the sort have come, each within ten minutes of the one before. */
  #isOneOfMany(sort: number, event: number, now: number): boolean {
    const row = this.#similar.get(sort) ?? this.#similar.add(sort)
    if (now - row[0]! > SIMILAR_WINDOW_MS) row.fill(0)
    row[0] = now
    const place = row.findIndex((known, i) => i > 0 && (known === event || known === 0))
    if (place === -1) return true
    row[place] = event
    return false
  }
}
