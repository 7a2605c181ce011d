import type { Clock, Timer } from "./clock.ts"

const NONE: Timer = { cancel() {} }

/**
 * The same clock for something that ends with `signal`: from then on it sets no timer, so that work which was under way
 * leaves none behind.
 */
export const livingClock = (clock: Clock, signal: AbortSignal): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  afterTurn: (run) => clock.afterTurn(run),
  setTimeout: (run, ms, kind) => (signal.aborted ? NONE : clock.setTimeout(run, ms, kind)),
})
