/** After this many new values the older half is forgotten. */
const GENERATION = 4096

/**
 * Values worked out for objects, kept for those that were asked for last. A WeakMap would keep those of every object
 * that is alive, and the engine visits each entry of a WeakMap in every collection, also of new objects only: with some
 * hundred thousand entries that is most of what such a collection costs.
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
