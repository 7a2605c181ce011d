import { loaded, type Clock } from "./clock.ts"

/**
 * Returns a clock whose callbacks cannot throw into the event loop: `failed` gets the error, and other timers run on.
 */
export function containingClock(clock: Clock, failed: (err: unknown) => void): Clock {
  const guarded = (run: () => void) => () => {
    try {
      run()
    } catch (err) {
      failed(err)
    }
  }
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: (run, ms, kind, place) => clock.setTimeout(guarded(run), ms, kind, place),
    rest: (timer, options) => clock.rest?.(timer, options),
    afterTurn: (run) => clock.afterTurn(guarded(run)),
    atRest: (run) => clock.atRest(guarded(run)),
    stillDuring: (work) => loaded(clock, work),
  }
}
