import type { Clock, Timer } from "../../../pkg/clock/clock.ts"

/** Something with a deadline. */
export interface Watched {
  /** The deadline in milliseconds of the monotonic clock; Infinity for none. Set by `Watchdog.expect`. */
  due: number
  /** The index in the watchdog's list. */
  place: number
  overdue(now: number): void
}

/**
 * Watches the deadlines of connections and exchanges with one timer, which runs only while there are any. To extend a
 * deadline costs an assignment: the timer then finds nothing overdue and is set again.
 */
export class Watchdog {
  readonly #clock: Clock
  readonly #watched: Watched[] = []
  #timer: Timer | undefined
  #wakesAt = Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get now(): number {
    return this.#clock.monotonic()
  }

  add(watched: Watched, ms: number): void {
    watched.place = this.#watched.push(watched) - 1
    this.expect(watched, ms)
  }

  /** Sets the deadline to `ms` from now. */
  expect(watched: Watched, ms: number): void {
    watched.due = this.#clock.monotonic() + ms
    if (watched.due < this.#wakesAt) this.#wakeAt(watched.due)
  }

  /** May be called twice. */
  remove(watched: Watched): void {
    const { place } = watched
    if (this.#watched[place] !== watched) return
    const last = this.#watched.pop()!
    if (last !== watched) {
      this.#watched[place] = last
      last.place = place
    }
    watched.place = -1
    if (this.#watched.length > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#wakesAt = Infinity
  }

  #wakeAt(at: number): void {
    this.#timer?.cancel()
    this.#wakesAt = at
    this.#timer = this.#clock.setTimeout(() => this.#check(), Math.max(1, at - this.#clock.monotonic()))
  }

  #check(): void {
    this.#timer = undefined
    this.#wakesAt = Infinity
    const now = this.#clock.monotonic()
    const overdue = this.#watched.filter(({ due }) => due <= now)
    const errors: unknown[] = []
    for (const each of overdue)
      try {
        each.overdue(now)
      } catch (err) {
        errors.push(err)
      }
    let next = Infinity
    for (const { due } of this.#watched) if (due > now && due < next) next = due
    if (next < this.#wakesAt) this.#wakeAt(next)
    if (errors.length > 0) throw errors[0] // the timer of all others is set again
  }
}
