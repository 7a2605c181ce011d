import { deepEqual } from "../../../pkg/apimachinery/equal.ts"

/** The most groups of which the last value is kept. Then all are dropped, which costs sharing and nothing else. */
const MOST_GROUPS = 2000

/**
 * Gives one value for all equal ones. Objects made from one template are the same in most of their parts, and
 * immutable, so thousands of pods can share one field set and one set of labels. A value is compared only with the last
 * one of its group: the objects that are likely to be the same.
 */
export class SharedValues<T extends object> {
  readonly #lastOf = new Map<string, T>()
  readonly #onShared: ((value: T) => void) | undefined

  /** `onShared` is called with a kept value each time it takes the place of another. */
  constructor(onShared?: (value: T) => void) {
    this.#onShared = onShared
  }

  /** The kept value of `group` that equals `value`; otherwise `value`, which is then kept. */
  of(value: T, group: string): T {
    const last = this.#lastOf.get(group)
    if (last !== undefined && deepEqual(value, last)) {
      this.#onShared?.(last)
      return last
    }
    if (this.#lastOf.size >= MOST_GROUPS) this.#lastOf.clear()
    this.#lastOf.set(group, value)
    return value
  }
}
