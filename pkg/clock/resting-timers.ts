import type { RestOptions, Resting } from "./clock.ts"
import { Pending } from "./timer-heap.ts"

/** Where a virtual clock is. */
interface Position {
  readonly time: number
  /** Whether a timer that is due at this time, with this place in the order, has run already. */
  readonly hasPassed: boolean
}

/** Timers that are set aside. None of them is in a heap, so that time goes over their runs. */
export class RestingTimers {
  readonly #all = new Set<RestingTimer>()
  readonly #positionOf: (order: number) => Position

  /** `positionOf` returns where the clock is, for a timer with this place in the order. */
  constructor(positionOf: (order: number) => Position) {
    this.#positionOf = positionOf
  }

  get size(): number {
    return this.#all.size
  }

  /** Sets aside a timer that is set; returns undefined for another. */
  add(timer: Pending, options: RestOptions): Resting | undefined {
    if (timer.state !== "set") return undefined
    const resting = new RestingTimer(timer, options, {
      positionOf: this.#positionOf,
      over: () => void this.#all.delete(resting),
    })
    this.#all.add(resting)
    return resting
  }

  wakeAll(): void {
    for (const resting of [...this.#all]) resting.wake()
  }
}

interface RestingParts {
  positionOf(order: number): Position
  over(): void
}

class RestingTimer implements Resting {
  readonly #run: () => void
  readonly #timer: Pending
  readonly #options: RestOptions
  readonly #parts: RestingParts
  /** When the first run is due of those that nobody has counted as left out yet. */
  #next: number
  #isOver = false

  constructor(timer: Pending, options: RestOptions, parts: RestingParts) {
    this.#run = timer.run
    this.#timer = timer
    this.#options = options
    this.#parts = parts
    this.#next = timer.due
    timer.cancel()
  }

  left(): number {
    const { time, hasPassed } = this.#parts.positionOf(this.#timer.order)
    const { periodMs } = this.#options
    // Of the runs up to now, the one that is due just now counts if it would have had its turn.
    const until = hasPassed ? time : time - 1
    const left = Math.max(0, Math.floor((until - this.#next) / periodMs) + 1)
    this.#next += left * periodMs
    return left
  }

  wake(): void {
    if (this.#isOver) return
    const left = this.left()
    this.cancel()
    const { order, heap } = this.#timer
    const timer = new Pending(this.#next, order, this.#run, heap)
    heap.push(timer)
    this.#options.resumed(timer, left)
  }

  cancel(): void {
    this.#isOver = true
    this.#parts.over()
  }
}
