export interface BackoffLimits {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * The backoff of crashing containers and failing pulls. Source: pkg/kubelet/kubelet.go MaxContainerBackOff,
 * backOffPeriod.
 */
const CRASH_BACKOFF: BackoffLimits = { firstMs: 10_000, longestMs: 300_000 }

interface Entry {
  readonly delayMs: number
  readonly updated: number
}

/**
 * A delay for each key, which doubles with every failure and is dropped when nothing failed for twice the longest
 * delay. Source: client-go util/flowcontrol/backoff.go.
 */
export class Backoff {
  readonly #now: () => number
  readonly #limits: BackoffLimits
  readonly #entries = new Map<string, Entry>()

  /** `now` is the clock of the failure times, in milliseconds: the wall clock for times from the runtime. */
  constructor(now: () => number, limits: BackoffLimits = CRASH_BACKOFF) {
    this.#now = now
    this.#limits = limits
  }

  /** Returns the milliseconds to wait after a failure at `since` (milliseconds of the clock); 0 for no wait. */
  remaining(key: string, since: number): number {
    const entry = this.#live(key, since)
    return entry === undefined ? 0 : Math.max(0, since + entry.delayMs - this.#now())
  }

  /** Returns the current delay in milliseconds; 0 without a failure. */
  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0
  }

  /** Records an attempt after a failure at `since`: the next one waits twice as long. */
  next(key: string, since: number): void {
    const entry = this.#live(key, since)
    const delayMs = entry === undefined ? this.#limits.firstMs : Math.min(entry.delayMs * 2, this.#limits.longestMs)
    this.#entries.set(key, { delayMs, updated: this.#now() })
  }

  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key)
  }

  #live(key: string, since: number): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || since - entry.updated > 2 * this.#limits.longestMs ? undefined : entry
  }
}
