import { realClock } from "../../../../pkg/clock/real.ts"

/** The longest real time for which a cluster keeps its turn while others wait. */
const SLICE_MS = 1000

interface Waiting {
  readonly age: number
  resolve(): void
}

/**
 * Decides which of a process's clusters may move its time, since they share a thread. If all moved at once, each would
 * end only when all have, after the time of all together. So one cluster has the turn, and passes it on between two
 * instants to the oldest that waits, which has waited longest. After a second another cluster gets one step.
 */
export class Turns {
  #ages = 0
  #holder: number | undefined
  #since = 0
  readonly #waiting: Waiting[] = []

  /** Adds a cluster. It calls `take` before each instant, and `pass` after it has moved. */
  join(): { take(): Promise<void> | undefined; pass(): void } {
    const age = this.#ages++
    return { take: () => this.#take(age), pass: () => this.#pass(age) }
  }

  /** Resolves when the cluster has the turn; returns undefined when it has it already. */
  #take(age: number): Promise<void> | undefined {
    const next = this.#oldest()
    const now = realClock.monotonic()
    if (this.#holder === undefined && (next === undefined || age < next.age)) {
      this.#holder = age
      this.#since = now
      return undefined
    }
    if (this.#holder === age && (next === undefined || (age < next.age && now - this.#since < SLICE_MS)))
      return undefined
    const waits = new Promise<void>((resolve) => this.#waiting.push({ age, resolve }))
    if (this.#holder === undefined || this.#holder === age) this.#give(next!)
    return waits
  }

  #pass(age: number): void {
    if (this.#holder !== age) return
    this.#holder = undefined
    const next = this.#oldest()
    if (next !== undefined) this.#give(next)
  }

  #oldest(): Waiting | undefined {
    let oldest: Waiting | undefined
    for (const waiting of this.#waiting) if (oldest === undefined || waiting.age < oldest.age) oldest = waiting
    return oldest
  }

  #give(next: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    this.#holder = next.age
    this.#since = realClock.monotonic()
    next.resolve()
  }
}

/** The turns of this process. */
export const turns = new Turns()
