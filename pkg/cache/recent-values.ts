/** After this many new values the older half of the values is dropped. */
const GENERATION = 4096

/**
 * Caches values that were calculated for objects, for the objects that were asked for last. A WeakMap would keep the
 * values of every live object, and the engine visits each entry of a WeakMap in every collection, even one of young
 * objects only: with some hundred thousand entries that is most of the cost of such a collection.
 */
export class RecentValues<K extends object, V> {
  #young = new WeakMap<K, V>()
  #old = new WeakMap<K, V>()
  #added = 0

  get(key: K): V | undefined {
    const found = this.#young.get(key)
    if (found !== undefined) return found
    const before = this.#old.get(key)
    if (before !== undefined) this.set(key, before)
    return before
  }

  set(key: K, value: V): void {
    if (this.#added++ >= GENERATION) {
      this.#old = this.#young
      this.#young = new WeakMap()
      this.#added = 1
    }
    this.#young.set(key, value)
  }
}
