import type { Clock } from "./clock.ts"

/** Lets only so many callers pass in a turn of the event loop; others pass in later turns, in the order of their calls. */
export class TurnGate {
  readonly #clock: Pick<Clock, "afterTurn">
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #passed = 0
  #isSet = false

  constructor(clock: Pick<Clock, "afterTurn">, most: number) {
    this.#clock = clock
    this.#most = most
  }

  /** Returns undefined to a caller that may pass at once; a promise that resolves in a later turn to others. */
  pass(): Promise<void> | undefined {
    this.#arm()
    if (this.#passed < this.#most) {
      this.#passed++
      return undefined
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #arm(): void {
    if (this.#isSet) return
    this.#isSet = true
    this.#clock.afterTurn(() => this.#nextTurn())
  }

  #nextTurn(): void {
    this.#isSet = false
    const next = this.#waiting.splice(0, this.#most)
    this.#passed = next.length
    if (next.length === 0) return
    this.#arm()
    for (const resolve of next) resolve()
  }
}
