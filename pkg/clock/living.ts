import { loaded, type Clock, type Timer } from "./clock.ts"

const NONE: Timer = { cancel() {} }

/**
 * Returns a clock for work that ends with `signal`. Once `signal` has aborted, the clock sets no timers, so that work
 * which still runs leaves none behind.
 */
export const livingClock = (clock: Clock, signal: AbortSignal): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  afterTurn: (run) => clock.afterTurn(run),
  atRest: (run) => clock.atRest(run),
  stillDuring: (work) => loaded(clock, work),
  setTimeout: (run, ms, kind, place) => (signal.aborted ? NONE : clock.setTimeout(run, ms, kind, place)),
  rest: (timer, options) => (signal.aborted ? undefined : clock.rest?.(timer, options)),
})
