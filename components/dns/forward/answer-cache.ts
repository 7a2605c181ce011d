import type { Clock } from "../../../pkg/clock/clock.ts"
import type { CacheOptions } from "../config/zone.ts"
import { layoutOf, TYPE } from "../wire/layout.ts"
import { FLAG, RCODE } from "../wire/query.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

/** How long an expired answer may be served while no server answers. Source: RFC 8767 5. */
const STALE_MS = 3_600_000
/** The TTL that a client sees in an expired answer, in seconds. Source: RFC 8767 5.11. */
const STALE_TTL = 30
/** The most bytes of cached answers of each kind, whatever their number. */
const LARGEST_BYTES = 8 << 20

type Kind = keyof CacheOptions

interface Kept {
  readonly message: Buffer
  readonly at: number
  readonly freshUntil: number
  /** The smallest time to live in the message, in seconds. */
  readonly ttl: number
}

export interface CachedAnswer {
  readonly message: Buffer
  /** Seconds to subtract from the times to live in the message. */
  readonly age: number
  readonly isFresh: boolean
}

/**
 * Caches answers of upstream servers for their TTL, positive and negative answers separately. The entries that were
 * added first are dropped first. Sources: RFC 2308 5, CoreDNS plugin/cache.
 */
export class AnswerCache {
  readonly #clock: Pick<Clock, "monotonic">
  readonly #options: CacheOptions
  readonly #tables: Readonly<Record<Kind, { readonly kept: Map<string, Kept>; bytes: number }>> = {
    success: { kept: new Map(), bytes: 0 },
    denial: { kept: new Map(), bytes: 0 },
  }

  constructor(clock: Pick<Clock, "monotonic">, options: CacheOptions) {
    this.#clock = clock
    this.#options = options
  }

  count(kind: Kind): number {
    return this.#tables[kind].kept.size
  }

  find(key: string): (CachedAnswer & { readonly kind: Kind }) | undefined {
    for (const kind of ["success", "denial"] as const) {
      const kept = this.#tables[kind].kept.get(key)
      if (kept === undefined) continue
      const now = this.#clock.monotonic()
      if (now < kept.freshUntil)
        return { message: kept.message, age: Math.floor((now - kept.at) / 1000), isFresh: true, kind }
      if (now < kept.freshUntil + STALE_MS)
        return { message: kept.message, age: Math.max(0, kept.ttl - STALE_TTL), isFresh: false, kind }
      this.#remove(kind, key)
    }
    return undefined
  }

  /** Caches an answer, unless it is truncated, an error, or a negative answer without an SOA record. */
  keep(key: string, message: Buffer): void {
    const { kind, ttl } = lifetime(message) ?? {}
    if (kind === undefined || ttl === undefined) return
    this.#remove("success", key)
    this.#remove("denial", key)
    const { capacity, ttl: most, minTtl } = this.#options[kind]
    const at = this.#clock.monotonic()
    const table = this.#tables[kind]
    table.kept.set(key, { message, at, ttl, freshUntil: at + Math.min(most, Math.max(minTtl, ttl)) * 1000 })
    table.bytes += message.length
    while (table.kept.size > capacity || table.bytes > LARGEST_BYTES)
      this.#remove(kind, table.kept.keys().next().value!)
  }

  #remove(kind: Kind, key: string): void {
    const table = this.#tables[kind]
    table.bytes -= table.kept.get(key)?.message.length ?? 0
    table.kept.delete(key)
  }
}

/** Returns whether an answer is positive or negative, and its TTL in seconds; undefined if it must not be cached. */
function lifetime(message: Buffer): { readonly kind: Kind; readonly ttl: number } | undefined {
  const flags = message.readUInt16BE(2)
  if ((flags & FLAG.truncated) !== 0) return undefined
  const rcode = flags & 15
  if (rcode !== RCODE.noError && rcode !== RCODE.nameError) return undefined
  const records = layoutOf(message).records.filter(({ type }) => type !== TYPE.OPT)
  const ttlOf = ({ ttlAt }: { readonly ttlAt: number }) => message.readInt32BE(ttlAt)
  if (rcode === RCODE.noError && records.some(({ section }) => section === "answer"))
    return { kind: "success", ttl: Math.max(0, smallest(records.map(ttlOf))) }
  const soa = records.find(({ section, type }) => section === "authority" && type === TYPE.SOA)
  if (soa === undefined || soa.end - soa.dataAt < 4) return undefined
  // The last four bytes of the SOA data are `minimum`, the TTL of negative answers.
  return { kind: "denial", ttl: Math.max(0, Math.min(ttlOf(soa), message.readInt32BE(soa.end - 4))) }
}
