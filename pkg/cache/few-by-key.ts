/** Up to so many items are searched: that takes less time and memory than an index. */
const FEW = 32

/**
 * Items that each have a key of their own, in the order in which their keys came. There may be very many such
 * collections of a few items each, so only one that has become large has an index.
 */
export class FewByKey<T> {
  readonly #keyOf: (item: T) => string
  readonly #items: T[] = []
  #places: Map<string, number> | undefined

  constructor(keyOf: (item: T) => string) {
    this.#keyOf = keyOf
  }

  get items(): readonly T[] {
    return this.#items
  }

  get(key: string): T | undefined {
    return this.#items[this.#placeOf(key)]
  }

  has(key: string): boolean {
    return this.#placeOf(key) >= 0
  }

  /** Adds an item, or replaces the one that has its key. */
  set(item: T): void {
    const key = this.#keyOf(item)
    const place = this.#placeOf(key)
    if (place >= 0) {
      this.#items[place] = item
      return
    }
    this.#items.push(item)
    if (this.#places !== undefined) this.#places.set(key, this.#items.length - 1)
    else if (this.#items.length > FEW) this.#places = new Map(this.#items.map((each, i) => [this.#keyOf(each), i]))
  }

  #placeOf(key: string): number {
    if (this.#places !== undefined) return this.#places.get(key) ?? -1
    for (let i = 0; i < this.#items.length; i++) if (this.#keyOf(this.#items[i]!) === key) return i
    return -1
  }
}
