import type { Clock } from "../../../pkg/clock/clock.ts"

/** Allows `burst` requests at once, and `perSecond` in the long run. Source: golang.org/x/time/rate Limiter.Allow. */
export class TokenBucket {
  readonly #clock: Pick<Clock, "monotonic">
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #filled: number

  constructor(clock: Pick<Clock, "monotonic">, perSecond: number, burst: number) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#filled = clock.monotonic()
  }

  /** Returns whether a request may be served now, and counts it if so. */
  allow(): boolean {
    const now = this.#clock.monotonic()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filled) / 1000) * this.#perSecond)
    this.#filled = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}
