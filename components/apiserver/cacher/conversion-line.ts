import type { Stored } from "../../../pkg/storage/storage.ts"
import type { ShowsAtOnce, View } from "./view.ts"
import { isPending } from "../call/maybe-promise.ts"

/** Most deliveries that wait for conversions. When there are more, the watches end and clients list again. */
const MOST_WAITING = 1000

interface Delivery {
  readonly stored: readonly Stored[]
  deliver(shown: ShowsAtOnce): void
}

/**
 * Delivers events in order to the watchers of one part of a resource that a webhook converts. When a conversion fails
 * nothing more is delivered: the watches end, and clients list again, as upstream, where the watch cache of the version
 * is then filled anew.
 */
export class ConversionLine {
  readonly #view: View
  readonly #failed: (err: unknown) => void
  readonly #overflow: () => void
  readonly #waiting: Delivery[] = []
  #isClosed = false

  /** Both functions must end the watches: `failed` after a failed conversion, `overflow` if too many deliveries wait. */
  constructor(view: View, failed: (err: unknown) => void, overflow: () => void) {
    this.#view = view
    this.#failed = failed
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
      this.#after(all)
    } else if (this.#waiting.length < MOST_WAITING) this.#waiting.push({ stored, deliver })
    else this.#overflow()
  }

  close(): void {
    this.#isClosed = true
    this.#waiting.length = 0
  }

  /** Makes the first delivery once its objects are converted. */
  #after(shown: Promise<readonly Stored[]>): void {
    shown.then(
      (all) => {
        if (this.#isClosed) return
        const { stored, deliver } = this.#waiting[0]!
        deliver(lookUp(stored, all))
        this.#waiting.shift()
        this.#next()
      },
      (err: unknown) => {
        if (!this.#isClosed) this.#failed(err)
      },
    )
  }

  #next(): void {
    for (let next = this.#waiting[0]; next !== undefined && !this.#isClosed; next = this.#waiting[0]) {
      const all = this.#view.allShown(next.stored)
      if (isPending(all)) return this.#after(all)
      next.deliver(lookUp(next.stored, all))
      this.#waiting.shift()
    }
  }
}

function lookUp(stored: readonly Stored[], shown: readonly Stored[]): ShowsAtOnce {
  const found = new Map(stored.map((each, i) => [each, shown[i]!]))
  return (each) => found.get(each)!
}
