import type { Clock, Timer } from "../clock/clock.ts"
import { errorMessage } from "../errors/error-message.ts"

export interface SyncRunnerOptions {
  readonly clock: Clock
  /**
   * Brings what the owner manages in line with the desired state. Called by the runner only, never twice at once. May
   * return for how many milliseconds it kept the process from other work, for `maxShare`.
   */
  sync(): Promise<number> | Promise<void>
  /** Called after each run that failed, for the log. Returns the wait before the next try, in milliseconds. */
  failed(err: unknown): number
  /**
   * The largest share of the time, above 0 and up to 1, in which `sync` may keep the process busy. Needed where others
   * can ask for runs without end: after a run the next one waits. A run that fails counts with the time that it took,
   * at most `FAILED_MS`. The first run after a quiet time begins at once. 1, the default, is no limit.
   */
  readonly maxShare?: number
}

/** The longest pause that `maxShare` causes, in milliseconds. */
const LONGEST_PAUSE_MS = 10_000
/** The most milliseconds of a failed run that count for `maxShare`: a longer run has mostly waited. */
const FAILED_MS = 100

/**
 * Runs `sync` when it is asked for: one run at a time, and all requests that come during a run are served by one more
 * run. A failed run is repeated after a wait. Source of the idea: pkg/proxy/runner/bounded_frequency_runner.go.
 *
 * A runner can be started again once `stop` has resolved.
 */
export class SyncRunner {
  readonly #options: SyncRunnerOptions
  #started = false
  #requested = false
  #running: Promise<void> | undefined
  #retry: Timer | undefined
  /** A run before this time, on the monotonic clock, would exceed `maxShare`. */
  #notBefore = -Infinity
  #pause: Timer | undefined
  #problem: string | undefined

  constructor(options: SyncRunnerOptions) {
    this.#options = options
  }

  /** The error message of the last run if it failed; undefined when it succeeded, and before the first run. */
  get problem(): string | undefined {
    return this.#problem
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /**
   * Asks for a run that begins after this call: at the end of the turn, after the present run, or with `start`. Returns
   * false when such a run was already asked for.
   */
  request(): boolean {
    if (this.#requested) return false
    this.#requested = true
    if (this.#started) this.#options.clock.afterTurn(() => void this.#run())
    return true
  }

  /** Asks for a run in `ms` milliseconds, unless one begins sooner. Replaces an earlier call. */
  requestIn(ms: number): void {
    this.#retry?.cancel()
    this.#retry = this.#started ? this.#options.clock.setTimeout(() => this.request(), ms) : undefined
  }

  /**
   * Starts the runner. Resolves after the first attempt of what has been requested so far, and never rejects: see
   * `problem`.
   */
  async start(): Promise<void> {
    this.#started = true
    this.#notBefore = -Infinity
    this.#problem = undefined
    await this.#run()
  }

  /** Starts no further run. Resolves when the present run has ended. */
  async stop(): Promise<void> {
    this.#started = false
    this.#requested = false
    this.#retry?.cancel()
    this.#pause?.cancel()
    this.#pause = undefined
    await this.#running
  }

  /**
   * Runs `sync` while runs are requested. Returns at once during a run, because the loop that made this run serves
   * later requests too.
   */
  async #run(): Promise<void> {
    while (this.#requested && this.#started && this.#running === undefined) {
      if (this.#mustPause()) return
      this.#requested = false
      this.#retry?.cancel()
      this.#running = this.#once().finally(() => (this.#running = undefined))
      await this.#running
    }
  }

  /** Returns whether `maxShare` makes the next run wait. If so, sets the timer that starts it. */
  #mustPause(): boolean {
    const { clock } = this.#options
    const waitMs = this.#notBefore - clock.monotonic()
    if (waitMs <= 0) return false
    this.#pause ??= clock.setTimeout(() => {
      this.#pause = undefined
      void this.#run()
    }, waitMs)
    return true
  }

  async #once(): Promise<void> {
    const { clock, maxShare = 1, sync } = this.#options
    const from = clock.monotonic()
    const pauseAfter = (busyMs: number): void => {
      this.#notBefore = clock.monotonic() + Math.min(LONGEST_PAUSE_MS, busyMs * (1 / maxShare - 1))
    }
    try {
      pauseAfter((await sync()) ?? 0)
      this.#problem = undefined
    } catch (err) {
      pauseAfter(Math.min(FAILED_MS, clock.monotonic() - from))
      this.#problem = errorMessage(err)
      this.requestIn(this.#options.failed(err))
    }
  }
}
