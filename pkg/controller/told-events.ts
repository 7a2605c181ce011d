import { RecentTexts } from "../cache/recent-texts.ts"

/** Limits for one reporter. Source: client-go tools/record/events_cache.go. */
const MAX_SIMILAR = 10
const SIMILAR_WINDOW_MS = 600_000
const SPAM_BURST = 25
const SPAM_REFILL_MS = 300_000
const CACHE_SIZE = 4096
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

/** An event that may be reported repeatedly. */
export interface Told {
  readonly message: string
  /** What follows the object's name in the name of the Event that was written for it. */
  suffix: string | undefined
  count: number
  /** Start of the time window in which the event was last reported. */
  window: number
}

/** Events about one object that differ only in their message. */
interface Similar {
  readonly type: string
  readonly reason: string
  readonly fieldPath: string | undefined
  window: number
  told: Told[]
  /** Replaces all events of a window when they have become too many. */
  combined: Told | undefined
}

/** The events about one object, and how many more may be written. */
interface About {
  tokens: number
  at: number
  /** Whether it was packed before and then reported again, as is likely to happen to it another time. */
  readonly isRecurring: boolean
  readonly similar: Similar[]
}

/** The same as two JSON texts, of which objects with the same events share the longer one. */
interface Packed {
  /** `Kinds`: what the events say. */
  readonly kinds: string
  /**
   * `Numbers`: the tokens and their time; then for each kind the start of its window; then for each of its events and
   * for the combined one the suffix, the count and the window. Windows are in milliseconds before the time of the
   * tokens.
   */
  readonly numbers: string
}
type Kinds = readonly (readonly [
  type: string,
  reason: string,
  fieldPath: string | null,
  messages: readonly string[],
  combined: string | null,
])[]
type Numbers = (number | string | null)[]

/** Reporters of all nodes tell the same of pods of one template. */
const kindsTold = new RecentTexts()

/**
 * Remembers the events of a reporter: equal events are counted, many events that differ only in their message are
 * combined into one, and too many events about one object are dropped. Source of the rules: client-go
 * tools/record/events_cache.go.
 */
export class ToldEvents {
  /** Recently reported objects by uid, the latest last. */
  readonly #fresh = new Map<string, About>()
  /**
   * Earlier objects, packed. After a busy time there are thousands, most of which are never reported again. As small
   * objects they would take ten times the memory, because they lie between garbage in the heap. For the same reason
   * many are packed at once, with copies of their uids: what is allocated together lies together.
   */
  readonly #packed = new Map<string, Packed>()

  /** Returns the event to write and its message; undefined when there are too many. */
  tell(
    uid: string,
    type: string,
    reason: string,
    fieldPath: string | undefined,
    message: string,
    now: number,
  ): { readonly told: Told; readonly message: string } | undefined {
    const about = this.#about(uid, now)
    about.tokens = Math.min(SPAM_BURST, about.tokens + (now - about.at) / SPAM_REFILL_MS)
    about.at = now
    if (about.tokens < 1) return undefined
    about.tokens--
    let similar = about.similar.find(
      (known) => known.reason === reason && known.type === type && known.fieldPath === fieldPath,
    )
    if (similar === undefined)
      about.similar.push((similar = { type, reason, fieldPath, window: now, told: [], combined: undefined }))
    return folded(similar, message, now)
  }

  /**
   * Returns the entry of an object. Of packed entries, those that were not used for the longest time are dropped first.
   */
  #about(uid: string, now: number): About {
    const packed = this.#packed.get(uid)
    const about = this.#fresh.get(uid) ??
      (packed === undefined ? undefined : unpacked(packed)) ?? {
        tokens: SPAM_BURST,
        at: now,
        isRecurring: false,
        similar: [],
      }
    this.#packed.delete(uid)
    this.#fresh.delete(uid)
    this.#fresh.set(uid, about)
    if (this.#fresh.size >= FRESH + PACKED_AT_ONCE && this.#fresh.size % PACKED_AT_ONCE === 0) this.#pack(FRESH)
    return about
  }

  /**
   * Packs nearly all entries. Called while no Event is waiting or being written: of a thousand reporters each would
   * keep its latest entries as objects. Those of objects about which something is told again and again stay, such as
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
      this.#packed.set(Buffer.from(uid).toString(), packedFrom(about))
      if (this.#packed.size > CACHE_SIZE) this.#packed.delete(firstOf(this.#packed)[0])
    }
  }
}

/** Whether all events have the name of their Event. Events that were combined have no names of their own. */
const isNamed = ({ told, combined }: Similar): boolean =>
  combined === undefined ? told.every(({ suffix }) => suffix !== undefined) : combined.suffix !== undefined

function packedFrom({ tokens, at, similar }: About): Packed {
  const kinds: Kinds = similar.map(({ type, reason, fieldPath = null, told, combined }) => [
    type,
    reason,
    fieldPath,
    told.map(({ message }) => message),
    combined?.message ?? null,
  ])
  const numbers: Numbers = [tokens, at]
  for (const { window, told, combined } of similar) {
    numbers.push(at - window)
    for (const each of told) numbers.push(each.suffix ?? null, each.count, at - each.window)
    if (combined !== undefined) numbers.push(combined.suffix ?? null, combined.count, at - combined.window)
  }
  return { kinds: kindsTold.of(JSON.stringify(kinds)), numbers: JSON.stringify(numbers) }
}

function unpacked(packed: Packed): About {
  const numbers = JSON.parse(packed.numbers) as Numbers
  const [tokens, at] = numbers as [number, number]
  let next = 2
  const window = () => at - (numbers[next++] as number)
  const toldOf = (message: string): Told => ({
    message,
    suffix: (numbers[next++] as string | null) ?? undefined,
    count: numbers[next++] as number,
    window: window(),
  })
  const similar = (JSON.parse(packed.kinds) as Kinds).map(([type, reason, fieldPath, messages, combined]): Similar => ({
    type,
    reason,
    fieldPath: fieldPath ?? undefined,
    window: window(),
    told: messages.map(toldOf),
    combined: combined === null ? undefined : toldOf(combined),
  }))
  return { tokens, at, isRecurring: true, similar }
}

const firstOf = <K, V>(map: ReadonlyMap<K, V>): readonly [K, V] => map.entries().next().value!

function folded(similar: Similar, message: string, now: number): { readonly told: Told; readonly message: string } {
  if (now - similar.window >= SIMILAR_WINDOW_MS) {
    similar.window = now
    similar.told = similar.told.slice(-MAX_SIMILAR)
  }
  const { told, window } = similar
  let mine: Told | undefined
  let others = 0
  for (const each of told) {
    if (each.message === message) mine = each
    else if (each.window === window) others++
  }
  if (mine !== undefined) mine.window = window
  else {
    mine = { message, suffix: undefined, count: 0, window }
    if (others < MAX_SIMILAR) told.push(mine)
  }
  if (others + 1 < MAX_SIMILAR) return { told: mine, message }
  const combined = `(combined from similar events): ${message}`
  return { told: (similar.combined ??= { message: combined, suffix: undefined, count: 0, window }), message: combined }
}
