/** Values kept to be shared, at most; emptied when full, which costs sharing and nothing else. */
const MOST_KEPT = 2000

/**
 * Gives one value for all that are equal. Objects made from one template are the same in most of their parts, and immutable: so thousands of pods can
 * share one field set, one list of tolerations. Equality is that of the JSON text.
 */
export class SharedValues {
  readonly #values = new Map<string, unknown>()

  of<T>(value: T): T {
    if (typeof value !== "object" || value === null) return value
    const text = JSON.stringify(value)
    const known = this.#values.get(text)
    if (known !== undefined) return known as T
    if (this.#values.size >= MOST_KEPT) this.#values.clear()
    this.#values.set(text, value)
    return value
  }
}
