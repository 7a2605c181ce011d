import type { Clock, Timer } from "../clock/clock.ts"

export interface FlushWatchOptions {
  readonly clock: Clock
  /** Returns whether the rules are still in the kernel. */
  isIntact(): Promise<boolean>
  /** Called at each check that finds the rules gone. */
  flushed(): void
  /** Called with the error of a check that failed, for the log. The rules are then assumed to be intact. */
  failed(err: unknown): void
}

/** Milliseconds between two checks. Source: --iptables-sync-period of kube-proxy. */
const CHECK_MS = 30_000

/**
 * Checks at intervals whether another program has flushed the rules of this one, because the kernel does not report it.
 */
export class FlushWatch {
  readonly #options: FlushWatchOptions
  #timer: Timer | undefined

  constructor(options: FlushWatchOptions) {
    this.#options = options
  }

  /** Starts the checks. The first one follows 30 seconds after this call; another call starts that time again. */
  start(): void {
    this.stop()
    const timer = this.#options.clock.setTimeout(() => void this.#check(timer), CHECK_MS)
    this.#timer = timer
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #check(timer: Timer): Promise<void> {
    const { isIntact, flushed, failed } = this.#options
    const found = await isIntact().catch((err: unknown) => {
      failed(err)
      return true
    })
    if (this.#timer !== timer) return // stopped or started again while the rules were read
    this.start()
    if (!found) flushed()
  }
}
