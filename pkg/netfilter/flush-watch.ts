import type { Clock, Timer } from "../clock/clock.ts"

export interface FlushWatchOptions {
  readonly clock: Clock
  /** Returns whether the rules are in the kernel. */
  isIntact(): Promise<boolean>
  /** Called when they are not, at every look. */
  flushed(): void
  /** Called when a look has failed, for the log. The rules are taken to be intact. */
  failed(err: unknown): void
}

/** Milliseconds between two looks. Source: --iptables-sync-period of kube-proxy. */
const CHECK_MS = 30_000

/** Looks whether another program has flushed rules of this one, which the kernel does not report. */
export class FlushWatch {
  readonly #options: FlushWatchOptions
  #timer: Timer | undefined

  constructor(options: FlushWatchOptions) {
    this.#options = options
  }

  /** Looks for the first time 30 seconds after this call, or after a later one. */
  start(): void {
    this.stop()
    const timer = this.#options.clock.setTimeout(() => void this.#look(timer), CHECK_MS)
    this.#timer = timer
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #look(timer: Timer): Promise<void> {
    const { isIntact, flushed, failed } = this.#options
    const found = await isIntact().catch((err: unknown) => {
      failed(err)
      return true
    })
    if (this.#timer !== timer) return // stopped, or started anew, since the rules were asked for
    this.start()
    if (!found) flushed()
  }
}
