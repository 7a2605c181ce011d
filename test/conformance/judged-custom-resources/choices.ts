import type { Random } from "../../../pkg/clock/random.ts"

/** Random choices, the same for the same seed. */
export class Choices {
  readonly #random: Random
  constructor(random: Random) {
    this.#random = random
  }
  /** A whole number from 0 to `below`, which it never is. */
  upTo(below: number): number {
    return Math.floor(this.#random.next() * below)
  }
  one<T>(of: readonly T[]): T {
    return of[this.upTo(of.length)]!
  }
  /** True once in `times`. */
  onceIn(times: number): boolean {
    return this.upTo(times) === 0
  }
}
