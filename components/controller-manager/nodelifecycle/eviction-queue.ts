/**
 * The nodes of one zone that wait for their NoExecute taint, in the order in which they were added, and the rate at
 * which they get it. Times are milliseconds of the monotonic clock. Source: nodelifecycle
 * scheduler/rate_limited_queue.go, whose limiters hold one token (EvictionRateLimiterBurst).
 */
export class EvictionQueue {
  readonly #waiting = new Set<string>()
  /** Nodes a second; 0 for none. */
  #rate: number
  /** When the next node may be taken, unless the rate is 0. */
  #next = -Infinity

  constructor(rate: number) {
    this.#rate = rate
  }

  add(node: string): void {
    this.#waiting.add(node)
  }

  delete(node: string): void {
    this.#waiting.delete(node)
  }

  /** Returns the next node, which no longer waits; undefined while none waits or none may be taken. */
  take(now: number): string | undefined {
    if (this.#rate <= 0 || now < this.#next) return undefined
    for (const node of this.#waiting) {
      this.#waiting.delete(node)
      this.#next = now + 1000 / this.#rate
      return node
    }
    return undefined
  }

  /** When `take` will return a node; undefined while none waits or none may be taken. */
  get due(): number | undefined {
    return this.#rate <= 0 || this.#waiting.size === 0 ? undefined : this.#next
  }

  /** Changes the rate. Where no node could have been taken now, the first one waits for a whole interval. */
  setRate(rate: number, now: number): void {
    if (rate === this.#rate) return
    const free = this.#rate > 0 && now >= this.#next
    this.#rate = rate
    this.#next = free || rate <= 0 ? now : now + 1000 / rate
  }
}
