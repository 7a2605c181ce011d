import { PackedEvents } from "./packed-events.ts"
import type { ObjectEvents, SimilarEvents, CorrelatedEvent } from "./correlated-event.ts"

/** Limits for one reporter. Source: client-go tools/record/events_cache.go. */
const MAX_SIMILAR = 10
const SIMILAR_WINDOW_MS = 600_000
const SPAM_BURST = 25
const SPAM_REFILL_MS = 300_000
/**
 * Objects whose events are kept unpacked: at least `FRESH`, and at most `MOST_FRESH` while some of their Events are
 * being written.
 */
const FRESH = 32
const MOST_FRESH = 192
/**
 * Objects that stay unpacked at rest: most events come in groups about one object, such as those of a starting pod, and
 * each would unpack it again.
 */
const FRESH_AT_REST = 2
/** After this many more objects the oldest are packed, if they can be. */
const PACKED_AT_ONCE = 32

/**
 * Remembers the events of a reporter: equal events are counted, many events that differ only in their message are
 * combined into one, and too many events about one object are dropped. Source of the rules: client-go
 * tools/record/events_cache.go.
 */
export class EventCorrelator {
  /** Recently reported objects by uid, the latest last. */
  readonly #fresh = new Map<string, ObjectEvents>()
  /** Earlier objects. After a busy time there are thousands, most of which are never reported again. */
  readonly #packed = new PackedEvents()

  /** Returns the event to write and its message; undefined when there are too many. */
  correlate(
    uid: string,
    type: string,
    reason: string,
    fieldPath: string | undefined,
    message: string,
    now: number,
  ): { readonly correlated: CorrelatedEvent; readonly message: string } | undefined {
    const about = this.#about(uid, now)
    about.tokens = Math.min(SPAM_BURST, about.tokens + (now - about.at) / SPAM_REFILL_MS)
    about.at = now
    if (about.tokens < 1) return undefined
    about.tokens--
    let similar = about.similar.find(
      (known) => known.reason === reason && known.type === type && known.fieldPath === fieldPath,
    )
    if (similar === undefined)
      about.similar.push((similar = { type, reason, fieldPath, window: now, correlated: [], combined: undefined }))
    return folded(similar, message, now)
  }

  #about(uid: string, now: number): ObjectEvents {
    const about = this.#fresh.get(uid) ??
      this.#packed.take(uid) ?? { tokens: SPAM_BURST, at: now, isRecurring: false, similar: [] }
    this.#fresh.delete(uid)
    this.#fresh.set(uid, about)
    if (this.#fresh.size >= FRESH + PACKED_AT_ONCE && this.#fresh.size % PACKED_AT_ONCE === 0) this.#pack(FRESH)
    return about
  }

  /**
   * Packs nearly all entries. Called while no Event is waiting or being written: of a thousand reporters each would
   * keep its latest entries as objects. Those of objects about which events come again and again stay, such as
   * CronJobs.
   */
  rest(): void {
    this.#pack(FRESH_AT_REST, FRESH)
  }

  /**
   * Packs the oldest entries but `kept`, and but up to `recurring` of those that recur. Those with Events that have no
   * name yet are left: the recorder sets its end after the write.
   */
  #pack(kept: number, recurring = 0): void {
    let left = this.#fresh.size - kept
    let recurred = 0
    for (const [uid, about] of this.#fresh) {
      if (left-- === 0) return
      if (about.isRecurring && recurred++ < recurring) continue
      if (this.#fresh.size < MOST_FRESH && !about.similar.every(isNamed)) continue
      this.#fresh.delete(uid)
      this.#packed.put(uid, about)
    }
  }
}

/** Whether all events have the name of their Event. Events that were combined have no names of their own. */
const isNamed = ({ correlated, combined }: SimilarEvents): boolean =>
  combined === undefined ? correlated.every(({ suffix }) => suffix !== undefined) : combined.suffix !== undefined

function folded(
  similar: SimilarEvents,
  message: string,
  now: number,
): { readonly correlated: CorrelatedEvent; readonly message: string } {
  if (now - similar.window >= SIMILAR_WINDOW_MS) {
    similar.window = now
    similar.correlated = similar.correlated.slice(-MAX_SIMILAR)
  }
  const { correlated, window } = similar
  let mine: CorrelatedEvent | undefined
  let others = 0
  for (const each of correlated) {
    if (each.message === message) mine = each
    else if (each.window === window) others++
  }
  if (mine !== undefined) mine.window = window
  else {
    mine = { message, suffix: undefined, count: 0, window }
    if (others < MAX_SIMILAR) correlated.push(mine)
  }
  if (others + 1 < MAX_SIMILAR) return { correlated: mine, message }
  const combined = `(combined from similar events): ${message}`
  return {
    correlated: (similar.combined ??= { message: combined, suffix: undefined, count: 0, window }),
    message: combined,
  }
}
