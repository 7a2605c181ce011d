/** A timer that has been set and can be taken back. Cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void
}

export type TimerKind = "work" | "upkeep" | "watchdog"

/**
 * The only source of time in k3ts. The real one reads the system; the virtual one (components/cluster/testing) stands
 * still until a
 * test moves it. Nothing else under `components/` or `pkg/` may ask the system for the time.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds from an arbitrary start, never going back, with fractions: for measuring how long something took. */
  monotonic(): number
  /**
   * Calls `run` once, `ms` milliseconds from now; delays over 24.8 days (the limit of the platform's timers) are kept
   * too. `upkeep` says that nobody would notice if it ran later, as long as it has run before anything else is done: a
   * heartbeat for one. `watchdog` is what looks whether upkeep was done, and runs after all of it. A clock that is
   * moved skips over both where nothing else is due, so that a quiet day costs nothing.
   */
  setTimeout(run: () => void, ms: number, kind?: TimerKind): Timer
  /**
   * Calls `run` when the present turn of the event loop has ended, after all microtasks: what group commit and
   * coalescing hang on.
   */
  afterTurn(run: () => void): void
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

/** The last one that was written: at one instant there are many, which may as well be one text in memory. */
let written = { second: Number.NaN, text: "" }

/** `now` as Kubernetes writes a metav1.Time: RFC 3339 in UTC, whole seconds. */
export function timestamp(clock: Clock): string {
  const second = Math.floor(clock.now() / 1000)
  if (second !== written.second) written = { second, text: new Date(second * 1000).toISOString().replace(".000Z", "Z") }
  return written.text
}

/** `now` as a metav1.MicroTime: RFC 3339 in UTC with six digits of fraction. */
export const microTimestamp = (clock: Clock): string => new Date(clock.now()).toISOString().slice(0, 23) + "000Z"
