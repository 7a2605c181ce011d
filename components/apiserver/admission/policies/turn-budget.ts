import { isPending } from "../../call/maybe-promise.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"

/** How long policies may hold other requests back at once, in milliseconds. */
const TURN_MS = 10

/**
 * The time that the evaluation of a request's policies takes of a turn of the event loop. A binding may select any
 * number of parameters, and others must not wait for all of them.
 */
export class TurnBudget {
  readonly #clock: Pick<Clock, "monotonic" | "afterTurn">
  #end: number

  constructor(clock: Pick<Clock, "monotonic" | "afterTurn">) {
    this.#clock = clock
    this.#end = clock.monotonic() + TURN_MS
  }

  get isSpent(): boolean {
    return this.#clock.monotonic() >= this.#end
  }

  /** Resolves in the next turn, which has a budget of its own. */
  next(): Promise<void> {
    return new Promise((resolve) =>
      this.#clock.afterTurn(() => {
        this.#end = this.#clock.monotonic() + TURN_MS
        resolve()
      }),
    )
  }
}

/**
 * Runs all steps, in as many turns as their time asks for; at once where one turn is enough. A step that is a promise
 * is waited for. @throws what a step throws
 */
export function inTurns(steps: Iterator<void | Promise<void>>, budget: TurnBudget): void | Promise<void> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return
    if (isPending(value)) return value.then(() => inTurns(steps, budget))
    if (budget.isSpent) return budget.next().then(() => inTurns(steps, budget))
  }
}
