import type { Clock } from "./clock.ts"

/** Resolves in the next turn of the event loop, so that others are served between two steps of long work. */
export const nextTurn = (clock: Pick<Clock, "afterTurn">): Promise<void> =>
  new Promise((resolve) => clock.afterTurn(resolve))
