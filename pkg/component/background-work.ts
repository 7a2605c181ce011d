import type { Clock, Timer } from "../clock/clock.ts"

/** The first and the longest delay before work that has failed begins again, in milliseconds. */
const FIRST_WAIT_MS = 1000
const LAST_WAIT_MS = 60_000

export interface BackgroundTools {
  readonly clock: Clock
  /** Called with each failure. Returns false where the work must not begin again. */
  failed(name: string, err: unknown): boolean
}

/**
 * Returns `ComponentContext.spawn`. A failure of one piece of work is the failure of that piece only. Work that must go
 * on, such as a loop, begins again after a delay that doubles with each failure, and is the first one again once the
 * work has run for a minute.
 */
export function backgroundWork({ clock, failed }: BackgroundTools) {
  return function spawn(name: string, run: () => Promise<void>, again?: AbortSignal): void {
    let waitMs = FIRST_WAIT_MS
    const begin = async (): Promise<void> => {
      const from = clock.monotonic()
      try {
        await run()
      } catch (err) {
        if (again?.aborted === true) return
        if (!failed(name, err) || again === undefined) return
        if (clock.monotonic() - from >= LAST_WAIT_MS) waitMs = FIRST_WAIT_MS
        beginIn(waitMs, again)
        waitMs = Math.min(waitMs * 2, LAST_WAIT_MS)
      }
    }
    const beginIn = (ms: number, until: AbortSignal): void => {
      const cancel = () => timer.cancel()
      const timer: Timer = clock.setTimeout(() => {
        until.removeEventListener("abort", cancel)
        void begin()
      }, ms)
      until.addEventListener("abort", cancel, { once: true })
    }
    void begin()
  }
}
