import { formatMicroTime, formatTime } from "../apimachinery/scalars/time.ts"

/** A timer that has been set. Cancelling a timer that has fired does nothing. */
export interface Timer {
  cancel(): void
}

export interface RestOptions {
  readonly periodMs: number
  /**
   * Called when the rest has ended, with a timer for the next run at the time at which it would have come anyway, and
   * with the number of runs that were left out.
   */
  resumed(timer: Timer, left: number): void
}

/** A timer that was set aside. */
export interface Resting extends Timer {
  /** Ends the rest, since something has changed. */
  wake(): void
  /** Returns the number of runs that were left out since the rest began, or since the last call. */
  left(): number
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
   *
   * Of timers that are due at the same time, the virtual clock runs the one first that was set first. With `place`, an
   * earlier timer that has run, the new one takes the place of that one in this order: so a loop keeps its place,
   * whether or not some of its rounds were left out.
   */
  setTimeout(run: () => void, ms: number, kind?: TimerKind, place?: Timer): Timer
  /**
   * Sets a timer aside that runs every `periodMs`, because its runs are known to have no effect until something
   * changes. Undefined where no run is left out, as by the system's clock.
   */
  rest?(timer: Timer, options: RestOptions): Resting | undefined
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
  /**
   * Returns `work`, and lets virtual time stand still until it has ended: for work that takes real time but no virtual
   * time, such as loading a module. Undefined or without effect where time moves by itself.
   */
  stillDuring?<T>(work: Promise<T>): Promise<T>
}

/**
 * Returns the result of `work`, such as `import()`, for which a virtual clock stands still. Otherwise it would run to
 * the next timer as soon as the file system or the compiler took a moment, so that a load would take minutes.
 */
export const loaded = <T>(clock: Pick<Clock, "stillDuring">, work: Promise<T>): Promise<T> =>
  clock.stillDuring?.(work) ?? work

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
