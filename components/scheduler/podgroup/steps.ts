import type { Clock } from "../../../pkg/clock/clock.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import { DECISIONS_PER_TURN } from "../decisions-per-turn.ts"
import type { Trial } from "./trial.ts"

/** Counts the decisions of a turn. */
export class Steps {
  readonly #clock: Pick<Clock, "afterTurn">
  #decisions = 0

  constructor(clock: Pick<Clock, "afterTurn">) {
    this.#clock = clock
  }

  /** Whether the rest is for the next turn. */
  get areMany(): boolean {
    return this.#decisions >= DECISIONS_PER_TURN
  }

  took({ found }: Trial): void {
    this.#decisions += Math.max(1, found.length)
  }

  next(): Promise<void> {
    this.#decisions = 0
    return nextTurn(this.#clock)
  }
}
