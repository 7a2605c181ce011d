import { deepEqual } from "../../../pkg/apimachinery/equal.ts"

/** Kins whose last value is kept, at most; emptied when full, which costs sharing and nothing else. */
const MOST_KEPT = 2000

/**
 * Gives one value for all that are equal. Objects made from one template are the same in most of their parts, and immutable: so thousands of pods can
 * share one field set, one list of labels. A value is compared with the last one of its kin only, which are the objects that are likely to be the same.
 */
export class SharedValues<T extends object> {
  readonly #lastOf = new Map<string, T>()
  readonly #onShared: ((value: T) => void) | undefined

  /** `onShared` is told of a value each time it takes the place of another. */
  constructor(onShared?: (value: T) => void) {
    this.#onShared = onShared
  }

  of(value: T, kin: string): T {
    const last = this.#lastOf.get(kin)
    if (last !== undefined && deepEqual(value, last)) {
      this.#onShared?.(last)
      return last
    }
    if (this.#lastOf.size >= MOST_KEPT) this.#lastOf.clear()
    this.#lastOf.set(kin, value)
    return value
  }
}
