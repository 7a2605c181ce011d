/** Limits for one reporter. Source: client-go tools/record/events_cache.go. */
const MOST_OBJECTS = 4096
const MAX_SIMILAR = 10
const SIMILAR_WINDOW_MS = 600_000
const SPAM_BURST = 25
const SPAM_REFILL_MS = 300_000

/** An event that may be reported repeatedly. */
export interface CorrelatedEvent {
  readonly type: string
  readonly reason: string
  readonly fieldPath: string | undefined
  /** Undefined for the event that replaces others which differ only in their message. */
  readonly message: string | undefined
  /** What follows the object's name in the name of the Event that was written for it; undefined before. */
  suffix: string | undefined
  count: number
  /** Start of the time window in which the event was last reported. */
  window: number
}

/** The events about one object, and how many more may be written. */
interface ObjectEvents {
  tokens: number
  at: number
  events: CorrelatedEvent[]
}

/**
 * Remembers the events of a reporter about the objects that it has reported last: equal events are counted, many events
 * that differ only in their message are combined into one, and too many events about one object are dropped. Source of
 * the rules: client-go tools/record/events_cache.go.
 */
export class EventCorrelator {
  /** By the uid of the object, the latest last. */
  readonly #objects = new Map<string, ObjectEvents>()

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
    const similar = about.events.filter(
      (known) => known.reason === reason && known.type === type && known.fieldPath === fieldPath,
    )
    const add = (text: string | undefined): CorrelatedEvent => {
      const added = { type, reason, fieldPath, message: text, suffix: undefined, count: 0, window }
      about.events.push(added)
      return added
    }
    let single = similar.filter((known) => known.message !== undefined)
    const latest = single.reduce((newest, known) => Math.max(newest, known.window), -Infinity)
    const isNewWindow = now - latest >= SIMILAR_WINDOW_MS
    const window = isNewWindow ? now : latest
    if (isNewWindow && single.length > MAX_SIMILAR) {
      const forgotten = new Set(single.slice(0, -MAX_SIMILAR))
      single = single.slice(-MAX_SIMILAR)
      about.events = about.events.filter((known) => !forgotten.has(known))
    }
    const others = single.filter((known) => known.window === window && known.message !== message).length
    let mine = single.find((known) => known.message === message)
    if (mine !== undefined) mine.window = window
    else if (others < MAX_SIMILAR) mine = add(message)
    if (mine !== undefined && others + 1 < MAX_SIMILAR) return { correlated: mine, message }
    const combined = similar.find((known) => known.message === undefined) ?? add(undefined)
    return { correlated: combined, message: `(combined from similar events): ${message}` }
  }

  #about(uid: string, now: number): ObjectEvents {
    const known = this.#objects.get(uid)
    if (known !== undefined) this.#objects.delete(uid)
    else if (this.#objects.size === MOST_OBJECTS) this.#objects.delete(this.#objects.keys().next().value!)
    const about = known ?? { tokens: SPAM_BURST, at: now, events: [] }
    this.#objects.set(uid, about)
    return about
  }
}
