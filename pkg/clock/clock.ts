import { formatMicroTime, formatTime } from "../apimachinery/scalars/time.ts"

/** A timer that has been set. Cancelling a timer that has fired does nothing. */
export interface Timer {
  cancel(): void
}

export type TimerKind = "work" | "upkeep" | "watchdog"

/**
 * The only source of time in k3ts. The real clock (real.ts) reads the system's time; the virtual clock (virtual.ts)
 * stands still until a test advances it. No other code under `components/` or `pkg/` may read the system's time.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since an arbitrary start, with fractions. Never goes back: for measuring how long something took. */
  monotonic(): number
  /**
   * Calls `run` once, `ms` milliseconds from now. Delays over 24.8 days, the limit of the platform's timers, work too.
   * An `upkeep` timer, such as a heartbeat, may run late, as long as it runs before any timer of kind `work`. A
   * `watchdog` timer checks that upkeep was done, so it runs after all upkeep that is due. The virtual clock skips over
   * both kinds while no `work` is due, so that a quiet day costs nothing.
   */
  setTimeout(run: () => void, ms: number, kind?: TimerKind): Timer
  /**
   * Calls `run` at the end of the present turn of the event loop, after all microtasks. Used for group commit and to
   * combine several updates into one.
   */
  afterTurn(run: () => void): void
  /**
   * Calls `run` when nothing else is left to do at the present instant, if the clock is virtual: what is written then
   * is written once, however many turns of the event loop it took to come about. Of thousands, the oldest wait only for
   * the end of the turn, as all do if the clock is not virtual.
   */
  atRest(run: () => void): void
}

/** Resolves `ms` milliseconds from now; rejects with the signal's reason when `signal` aborts first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const onAbort = () => {
      timer.cancel()
      reject(signal!.reason as Error)
    }
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener("abort", onAbort)
      resolve()
    }, ms)
    signal?.addEventListener("abort", onAbort, { once: true })
  })
}

/** The time now as a metav1.Time: RFC 3339 in UTC, whole seconds. */
export const timestamp = (clock: Clock): string => formatTime(clock.now())

/** The time now as a metav1.MicroTime: RFC 3339 in UTC with six digits of fraction. */
export const microTimestamp = (clock: Clock): string => formatMicroTime(clock.now())
