import type { Clock } from "../../../../pkg/clock/clock.ts"

/** Remembers values for a time each, and no more than `most` of them: those that were used last. Has no timer. */
export class ExpiringCache<T> {
  readonly #clock: Pick<Clock, "monotonic">
  readonly #most: number
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>()

  constructor(clock: Pick<Clock, "monotonic">, most: number) {
    this.#clock = clock
    this.#most = most
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    if (entry.until <= this.#clock.monotonic()) return undefined
    this.#entries.set(key, entry)
    return entry.value
  }

  /** `forMs`: how long it is remembered, in milliseconds. */
  set(key: string, value: T, forMs: number): void {
    this.#entries.delete(key)
    if (this.#entries.size >= this.#most) this.#entries.delete(this.#entries.keys().next().value!)
    this.#entries.set(key, { value, until: this.#clock.monotonic() + forMs })
  }
}
