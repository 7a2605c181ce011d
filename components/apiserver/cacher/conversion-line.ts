import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import type { ShowsAtOnce, View } from "./view.ts"
import { isPending } from "../call/maybe-promise.ts"

/** First delay after a failed conversion; it doubles up to the longest. Source: client-go tools/cache/reflector.go. */
const FIRST_WAIT_MS = 800
const LONGEST_WAIT_MS = 30_000
/** Most deliveries that wait for conversions. When there are more, the watches end and clients list again. */
const MOST_WAITING = 1000

interface Delivery {
  readonly stored: readonly Stored[]
  deliver(shown: ShowsAtOnce): void
}

/**
 * Delivers events in order to the watchers of one part of a resource that a webhook converts. While conversions fail
 * the watches stay open without events; the missed events follow when the webhook works again, as upstream, where the
 * watch cache of the version is refilled behind open watches.
 */
export class ConversionLine {
  readonly #view: View
  readonly #clock: Clock
  readonly #overflow: () => void
  readonly #waiting: Delivery[] = []
  #retry: Timer | undefined
  #isClosed = false

  /** `overflow` ends the watches when too many deliveries wait. */
  constructor(view: View, clock: Clock, overflow: () => void) {
    this.#view = view
    this.#clock = clock
    this.#overflow = overflow
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Calls `deliver` once all of `stored` is converted and all earlier deliveries are made; at once where possible. */
  add(stored: readonly Stored[], deliver: Delivery["deliver"]): void {
    if (this.isEmpty) {
      const all = this.#view.allShown(stored)
      if (!isPending(all)) return deliver(lookUp(stored, all))
      this.#waiting.push({ stored, deliver })
      this.#after(all, FIRST_WAIT_MS)
    } else if (this.#waiting.length < MOST_WAITING) this.#waiting.push({ stored, deliver })
    else this.#overflow()
  }

  close(): void {
    this.#isClosed = true
    this.#retry?.cancel()
    this.#waiting.length = 0
  }

  /** Makes the first delivery once its objects are converted; tries again after `waitMs` when the conversion fails. */
  #after(shown: Promise<readonly Stored[]>, waitMs: number): void {
    shown.then(
      (all) => {
        if (this.#isClosed) return
        const { stored, deliver } = this.#waiting[0]!
        deliver(lookUp(stored, all))
        this.#waiting.shift()
        this.#next(FIRST_WAIT_MS)
      },
      () => {
        if (this.#isClosed) return
        this.#retry = this.#clock.setTimeout(() => this.#next(Math.min(waitMs * 2, LONGEST_WAIT_MS)), waitMs)
      },
    )
  }

  /** `waitMs` is the delay before the next attempt should the conversion fail. */
  #next(waitMs: number): void {
    for (let next = this.#waiting[0]; next !== undefined && !this.#isClosed; next = this.#waiting[0]) {
      const all = this.#view.allShown(next.stored)
      if (isPending(all)) return this.#after(all, waitMs)
      next.deliver(lookUp(next.stored, all))
      this.#waiting.shift()
    }
  }
}

function lookUp(stored: readonly Stored[], shown: readonly Stored[]): ShowsAtOnce {
  const found = new Map(stored.map((each, i) => [each, shown[i]!]))
  return (each) => found.get(each)!
}
