import type { Clock } from "../../../pkg/clock/clock.ts"

/**
 * Resolves in the next turn of the event loop. A write of an object with tens of thousands of small values takes 50 to
 * 200 ms each to be parsed, tracked, checked and stored, so others are served between these steps.
 */
export const nextTurn = (clock: Pick<Clock, "afterTurn">): Promise<void> =>
  new Promise((resolve) => clock.afterTurn(resolve))
