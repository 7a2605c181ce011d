import type { Clock, Timer } from "../../../pkg/clock/clock.ts"

/** The delay before another attempt after an error, in milliseconds. */
const RETRY_MS = 60_000

/** Something with tokens that must be renewed. Times are in milliseconds of the monotonic clock. */
export interface TokenHolder {
  /** When the first of its tokens must be renewed; Infinity if none has to be. */
  readonly nextRenewal: number
  renewDue(now: number): void
}

/** Tells the pods of a node when their tokens are due. One timer for all, since there may be very many pods. */
export class TokenRenewals {
  readonly #clock: Clock
  readonly #holders: () => Iterable<TokenHolder>
  #timer: Timer | undefined
  #due = Infinity

  constructor(clock: Clock, holders: () => Iterable<TokenHolder>) {
    this.#clock = clock
    this.#holders = holders
  }

  /** Called with when a token of a holder must be renewed. */
  arm(at: number): void {
    if (at >= this.#due) return
    this.#timer?.cancel()
    this.#due = at
    this.#timer = this.#clock.setTimeout(() => this.#renew(), at - this.#clock.monotonic(), "upkeep")
  }

  stop(): void {
    this.#timer?.cancel()
    this.#due = Infinity
  }

  #renew(): void {
    const now = this.#clock.monotonic()
    this.#due = Infinity
    let next = Infinity
    const errors: unknown[] = []
    for (const holder of this.#holders())
      try {
        if (holder.nextRenewal <= now) holder.renewDue(now)
        next = Math.min(next, holder.nextRenewal)
      } catch (err) {
        errors.push(err)
        next = Math.min(next, now + RETRY_MS)
      }
    if (next < Infinity) this.arm(next)
    if (errors.length > 0) throw errors[0] // the tokens of other pods are renewed all the same
  }
}
