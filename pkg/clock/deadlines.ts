import type { Clock, Timer } from "./clock.ts"

/**
 * Times by which things must be over, nearly all of which are over long before. One timer serves all of them, since a
 * timer for each request costs as much as a whole step of serving it.
 */
export class Deadlines<T> {
  readonly #clock: Clock
  readonly #overdue: (thing: T) => void
  readonly #due = new Map<T, number>()
  #timer: { readonly at: number; readonly handle: Timer } | undefined

  /** `overdue` is called with what is not over in its time, and is then forgotten here. */
  constructor(clock: Clock, overdue: (thing: T) => void) {
    this.#clock = clock
    this.#overdue = overdue
  }

  /** `at`: milliseconds of the monotonic clock. */
  add(thing: T, at: number): void {
    this.#due.set(thing, at)
    if (this.#timer === undefined || at < this.#timer.at) this.#wakeAt(at)
  }

  /** It is over. */
  delete(thing: T): void {
    this.#due.delete(thing)
    if (this.#due.size > 0) return
    this.#timer?.handle.cancel()
    this.#timer = undefined
  }

  #wakeAt(at: number): void {
    this.#timer?.handle.cancel()
    const handle = this.#clock.setTimeout(() => this.#look(), Math.max(0, at - this.#clock.monotonic()))
    this.#timer = { at, handle }
  }

  #look(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    let next = Infinity
    for (const [thing, at] of this.#due) {
      if (at > now) next = Math.min(next, at)
      else {
        this.#due.delete(thing)
        this.#overdue(thing)
      }
    }
    if (next < Infinity) this.#wakeAt(next)
  }
}
