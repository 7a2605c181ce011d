/** The longest Retry-After, in seconds. */
const LONGEST = 32

/**
 * Computes the Retry-After of rejected requests, in seconds: 1 at first, doubled up to 32 while many requests are
 * rejected, and lowered again by 1 when few are. Source: apiserver pkg/util/flowcontrol/dropped_requests_tracker.go.
 */
export class DroppedRequests {
  #retryAfter = 1
  #raisedAt = 0
  #second = 0
  #count = 0
  /** Earlier seconds, with the number of requests rejected in each. */
  #history: readonly { readonly second: number; readonly count: number }[] = []

  /**
   * Counts a request that is rejected at `now` (milliseconds since the epoch). Returns the seconds after which it may
   * be sent again.
   */
  dropped(now: number): number {
    const second = Math.floor(now / 1000)
    if (second === this.#second) this.#count++
    else {
      const kept = Math.min(2 * this.#retryAfter, LONGEST)
      this.#history = [...this.#history, { second: this.#second, count: this.#count }].filter(
        (past) => second - past.second <= kept,
      )
      this.#second = second
      this.#count = 1
      this.#adjust(second)
    }
    return this.#retryAfter
  }

  #adjust(now: number): void {
    const retryAfter = this.#retryAfter
    const count = this.#history
      .filter(({ second }) => now - second <= retryAfter)
      .reduce((sum, past) => sum + past.count, 0)
    if (now - this.#raisedAt >= retryAfter && count >= 3 * retryAfter) {
      this.#retryAfter = Math.min(2 * retryAfter, LONGEST)
      this.#raisedAt = now
    } else if (count < retryAfter && retryAfter > 1) this.#retryAfter--
  }
}
