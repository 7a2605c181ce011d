/** No client is asked to wait longer, in seconds. */
const LONGEST = 32

/**
 * After how many seconds clients may come again whose requests were turned away: 1, and twice as many with each time
 * that many were, up to 32. Source: apiserver pkg/util/flowcontrol/dropped_requests_tracker.go.
 */
export class DroppedRequests {
  #retryAfter = 1
  #raisedAt = 0
  #second = 0
  #count = 0
  /** The seconds before with the number of requests that were turned away in each. */
  #history: readonly { readonly second: number; readonly count: number }[] = []

  /** Counts a request that is turned away at `now`, milliseconds since the epoch. Returns when it may come again. */
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
