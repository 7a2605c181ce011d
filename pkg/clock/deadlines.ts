import type { Clock, Timer } from "./clock.ts"

/**
 * The deadlines of many items, nearly all of which are done long before their deadline. One timer serves all items,
 * because a timer for each request costs as much as a whole step of serving it. Items are kept in an array whose free
 * indexes are reused: a Map to which items are added and removed all the time makes garbage that keeps them in memory.
 */
export class Deadlines<T> {
  readonly #clock: Clock
  readonly #overdue: (thing: T) => void
  readonly #things: (T | undefined)[] = []
  readonly #due: number[] = []
  /** Free indexes. */
  readonly #free: number[] = []
  #timer: { readonly at: number; readonly handle: Timer } | undefined

  /** `overdue` is called with each item that has passed its deadline. The item is removed first. */
  constructor(clock: Clock, overdue: (thing: T) => void) {
    this.#clock = clock
    this.#overdue = overdue
  }

  /**
   * Adds an item with its deadline `at`, in milliseconds of the monotonic clock. Returns the index to pass to `delete`,
   * once.
   */
  add(thing: T, at: number): number {
    const place = this.#free.pop() ?? this.#things.length
    this.#things[place] = thing
    this.#due[place] = at
    if (this.#timer === undefined || at < this.#timer.at) this.#wakeAt(at)
    return place
  }

  /** Removes the item at this index: call it once for each item, also for one that was overdue. */
  delete(place: number): void {
    this.#things[place] = undefined
    this.#free.push(place)
    if (this.#free.length < this.#things.length) return
    this.#timer?.handle.cancel()
    this.#timer = undefined
  }

  #wakeAt(at: number): void {
    this.#timer?.handle.cancel()
    const handle = this.#clock.setTimeout(() => this.#check(), Math.max(0, at - this.#clock.monotonic()))
    this.#timer = { at, handle }
  }

  #check(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    const overdue: T[] = []
    let next = Infinity
    for (let place = 0; place < this.#things.length; place++) {
      const thing = this.#things[place]
      if (thing === undefined) continue
      const at = this.#due[place]!
      if (at > now) next = Math.min(next, at)
      else {
        this.#things[place] = undefined
        overdue.push(thing)
      }
    }
    // Before the calls: an error in one of them must not stop the timer of the others. `add` wakes for sooner ones.
    if (next < Infinity) this.#wakeAt(next)
    const errors: unknown[] = []
    for (const thing of overdue)
      try {
        this.#overdue(thing)
      } catch (err) {
        errors.push(err)
      }
    if (errors.length > 0) throw errors[0]
  }
}
