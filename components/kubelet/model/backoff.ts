import type { Features } from "../../../pkg/component/features.ts"

export interface BackoffLimits {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * The backoff of crashing containers and failing pulls. Source: pkg/kubelet/kubelet.go MaxContainerBackOff,
 * backOffPeriod.
 */
export const CRASH_BACKOFF: BackoffLimits = { firstMs: 10_000, longestMs: 300_000 }

/**
 * The backoff of crashing containers with the feature gate ReduceDefaultCrashLoopBackOffDecay. Source:
 * pkg/kubelet/kubelet.go reducedInitialCrashLoopBackOff, reducedMaxCrashLoopBackOff.
 */
const REDUCED_BACKOFF: BackoffLimits = { firstMs: 1000, longestMs: 60_000 }

/** Returns the backoff of crashing containers by the feature gates. */
export const crashBackoffOf = (features: Pick<Features, "ReduceDefaultCrashLoopBackOffDecay">): BackoffLimits =>
  features.ReduceDefaultCrashLoopBackOffDecay ? REDUCED_BACKOFF : CRASH_BACKOFF

/** The clocks of a backoff, in milliseconds. */
export interface BackoffClock {
  /** The clock of the failure times: the wall clock for times from the runtime. */
  now(): number
  /** Never goes back. */
  monotonic(): number
}

interface Entry {
  readonly delayMs: number
  readonly updated: number
  /** The failure that was asked about last, and when it was asked about first, on the monotonic clock. */
  seen?: { readonly since: number; readonly at: number }
}

/**
 * A delay for each key, which doubles with every failure and is dropped when nothing failed for twice the longest
 * delay. Source: client-go util/flowcontrol/backoff.go.
 */
export class Backoff {
  readonly #clock: BackoffClock
  readonly #limits: BackoffLimits
  readonly #entries = new Map<string, Entry>()

  constructor(clock: BackoffClock, limits: BackoffLimits = CRASH_BACKOFF) {
    this.#clock = clock
    this.#limits = limits
  }

  /**
   * Returns the milliseconds to wait after a failure at `since` (milliseconds of the clock); 0 for no wait. Differs
   * from upstream: where the wall clock was set back, the wait is no longer than its delay.
   */
  remaining(key: string, since: number): number {
    const entry = this.#live(key, since)
    if (entry === undefined) return 0
    if (entry.seen?.since !== since) entry.seen = { since, at: this.#clock.monotonic() }
    const byWall = since - this.#clock.now()
    const bySight = entry.seen.at - this.#clock.monotonic()
    return Math.max(0, entry.delayMs + Math.min(byWall, bySight))
  }

  /** Returns the current delay in milliseconds; 0 without a failure. */
  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0
  }

  /** Records an attempt after a failure at `since`: the next one waits twice as long. */
  next(key: string, since: number): void {
    const entry = this.#live(key, since)
    const delayMs = entry === undefined ? this.#limits.firstMs : Math.min(entry.delayMs * 2, this.#limits.longestMs)
    this.#entries.set(key, { delayMs, updated: this.#clock.now() })
  }

  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key)
  }

  #live(key: string, since: number): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || since - entry.updated > 2 * this.#limits.longestMs ? undefined : entry
  }
}
