import type { Clock, Timer } from "../../../pkg/clock/clock.ts"

export interface StepLoopOptions {
  readonly clock: Clock
  /** Runs work in the background. */
  spawn(work: () => Promise<void>): void
  /** One step. The signal aborts it when what it does is not wanted any more. */
  step(signal: AbortSignal): Promise<void>
  /** Called with what a step has thrown that nobody interrupted. */
  failed(err: unknown): void
}

/** Runs steps one after the other: one for each time that it was woken, or one for several times during a step. */
export class StepLoop {
  readonly #options: StepLoopOptions
  #again = false
  /** Aborts the step that runs; undefined between steps. */
  #interrupt: AbortController | undefined
  #working = false
  #ended = false
  #timer: Timer | undefined
  /** When the timer ends, on the monotonic clock. */
  #due = Infinity

  constructor(options: StepLoopOptions) {
    this.#options = options
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  /** Runs a step, after the one that runs now. */
  wake(): void {
    if (this.#ended) return
    this.#again = true
    if (this.#working) return
    this.#working = true
    this.#options.spawn(() => this.#work())
  }

  /** Calls `wake` after this time at the latest, unless a step comes before. */
  wakeIn(ms: number, wake: () => void): void {
    const { clock } = this.#options
    const due = clock.monotonic() + ms
    if (this.#ended || due >= this.#due) return
    this.#due = due
    this.#timer?.cancel()
    this.#timer = clock.setTimeout(wake, ms)
  }

  /** Aborts the step that runs, after which comes another one. */
  interrupt(reason: string): void {
    this.#interrupt?.abort(new Error(reason))
  }

  /** Runs no further step. */
  end(): void {
    this.#ended = true
  }

  /** Runs no further step, and aborts the one that runs. */
  stop(reason: string): void {
    this.end()
    this.#timer?.cancel()
    this.interrupt(reason)
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#ended) {
      this.#again = false
      const { signal } = (this.#interrupt = new AbortController())
      this.#timer?.cancel()
      this.#due = Infinity
      try {
        await this.#options.step(signal)
      } catch (err) {
        if (signal.aborted) this.#again = true
        else this.#options.failed(err)
      }
    }
    this.#interrupt = undefined
    this.#working = false
  }
}
