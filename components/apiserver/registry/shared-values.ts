import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { clearedAtRest } from "../../../pkg/cache/at-rest.ts"
import { isSmall } from "../../../pkg/cache/is-small.ts"

/**
 * Most groups of which the last value is kept; then the one that was used longest ago is dropped. Few templates are
 * used at the same time, and what outlives their owners lies scattered among garbage: 1,000 groups kept 15 MB of an
 * idle server.
 */
const MOST_GROUPS = 128
/** Larger values are neither kept nor shared, in characters. */
const LARGEST = 65_536

/**
 * Gives one value for all equal ones. Objects made from one template are the same in most of their parts, and
 * immutable, so thousands of pods can share one field set and one set of labels. A value is compared only with the last
 * one of its group: the objects that are likely to be the same.
 */
export class SharedValues<T extends object> {
  readonly #lastOf = clearedAtRest(new Map<string, T>())
  readonly #onShared: ((value: T) => void) | undefined

  /** `onShared` is called with a kept value each time it takes the place of another. */
  constructor(onShared?: (value: T) => void) {
    this.#onShared = onShared
  }

  /** The kept value of `group` that equals `value`; otherwise `value`, which is then kept. */
  of(value: T, group: string): T {
    if (!isSmall(value, LARGEST)) return value
    const last = this.#lastOf.get(group)
    const isEqual = last !== undefined && deepEqual(value, last)
    const kept = isEqual ? last : value
    if (isEqual) this.#onShared?.(last)
    if (last !== undefined) this.#lastOf.delete(group)
    else if (this.#lastOf.size >= MOST_GROUPS) this.#lastOf.delete(this.#lastOf.keys().next().value!)
    this.#lastOf.set(group, kept) // the one used last stands last
    return kept
  }
}
