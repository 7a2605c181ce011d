import { deepEqual } from "../../../pkg/apimachinery/equal.ts"

/** Values kept to be shared, at most; emptied when full, which costs sharing and nothing else. */
const MOST_KEPT = 2000

/**
 * Gives one value for all that are equal. Objects made from one template are the same in most of their parts, and immutable: so thousands of pods can
 * share one field set, one list of tolerations. Equality is that of the JSON text; but the value asked for last is mostly the one wanted, and is seen to be
 * so without making any text.
 */
export class SharedValues<T extends object> {
  readonly #values = new Map<string, T>()
  readonly #given = new WeakSet<T>()
  readonly #onNew: ((value: T, text: string) => void) | undefined
  #last: T | undefined

  /** `onNew` is told of each value that will be shared, and its JSON. */
  constructor(onNew?: (value: T, text: string) => void) {
    this.#onNew = onNew
  }

  of(value: T): T {
    if (this.#given.has(value)) return value
    if (this.#last !== undefined && deepEqual(value, this.#last)) return this.#last
    return (this.#last = this.#known(value))
  }

  #known(value: T): T {
    const text = JSON.stringify(value)
    const known = this.#values.get(text)
    if (known !== undefined) return known
    if (this.#values.size >= MOST_KEPT) this.#values.clear()
    this.#values.set(text, value)
    this.#given.add(value)
    this.#onNew?.(value, text)
    return value
  }
}
