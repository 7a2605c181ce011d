import type { Clock, Timer } from "../clock/clock.ts"

export interface UpkeepOptions {
  readonly clock: Clock
  /** Compares something in the machine with what it should be, and repairs it. Never called twice at once. */
  mend(): Promise<void>
  /** Called with the error of each attempt that fails, for the log; the next one follows after the usual time. */
  failed(err: unknown): void
}

/** Milliseconds between two repairs. */
export const UPKEEP_MS = 60_000

/**
 * Repairs once a minute what this program has set in the machine (routes, addresses, settings), because other programs
 * change it, and the kernel does not report all of that.
 */
export class Upkeep {
  readonly #options: UpkeepOptions
  #timer: Timer | undefined
  #mending: Promise<void> | undefined

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  /** Begins; the first repair is a minute later. */
  start(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.setTimeout(() => this.#mend(), UPKEEP_MS, "upkeep")
  }

  /** Resolves when the present repair has ended. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#mending
  }

  #mend(): void {
    const { mend, failed } = this.#options
    const timer = this.#timer
    this.#mending = mend()
      .catch(failed)
      .finally(() => {
        this.#mending = undefined
        if (this.#timer === timer) this.start()
      })
  }
}
