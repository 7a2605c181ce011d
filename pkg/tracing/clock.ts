import { loaded, type Clock } from "../clock/clock.ts"
import type { Tracing } from "./tracing.ts"

/**
 * Returns a clock whose timers run outside of the span in which they were set. Otherwise a loop that sets its own next
 * timer would stay in the trace of the request that started it, and the turn that commits the writes of many requests
 * would be in the trace of one of them.
 */
export const outsideSpans = (clock: Clock, tracing: Pick<Tracing, "outside">): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  setTimeout: (run, ms, kind, place) => tracing.outside(() => clock.setTimeout(run, ms, kind, place)),
  rest: (timer, options) => clock.rest?.(timer, options),
  afterTurn: (run) => tracing.outside(() => clock.afterTurn(run)),
  atRest: (run) => tracing.outside(() => clock.atRest(run)),
  stillDuring: (work) => loaded(clock, work),
})
