/** Keys a leaf holds before it is split in two. Inserting moves at most this many; a listing walks leaf by leaf. */
const LEAF = 128

/**
 * A map from key to value that also knows the order of its keys: looking up or replacing is a hash map's cost,
 * inserting moves part of one leaf, and all that starts with a prefix is one walk. Leaves are sorted arrays of keys,
 * not of values, so that a search reads nothing but keys; no leaf is empty unless the whole map is.
 */
export class SortedKeys<V extends { readonly key: string }> {
  readonly #byKey = new Map<string, V>()
  #leaves: string[][] = [[]]

  get size(): number {
    return this.#byKey.size
  }
  get(key: string): V | undefined {
    return this.#byKey.get(key)
  }

  set(value: V): void {
    const { key } = value
    const known = this.#byKey.has(key)
    this.#byKey.set(key, value)
    if (known) return
    const at = this.#leafFor(key)
    const leaf = this.#leaves[at]!
    leaf.splice(lowerBound(leaf, key), 0, key)
    if (leaf.length > LEAF) this.#leaves.splice(at + 1, 0, leaf.splice(LEAF / 2))
  }

  delete(key: string): void {
    if (!this.#byKey.delete(key)) return
    const at = this.#leafFor(key)
    const leaf = this.#leaves[at]!
    leaf.splice(lowerBound(leaf, key), 1)
    if (leaf.length === 0 && this.#leaves.length > 1) this.#leaves.splice(at, 1)
  }

  /** All values whose key starts with `prefix`, in the order of their keys. */
  startingWith(prefix: string): V[] {
    const found: V[] = []
    const first = this.#leafFor(prefix)
    for (let at = first; at < this.#leaves.length; at++) {
      const leaf = this.#leaves[at]!
      for (let index = at === first ? lowerBound(leaf, prefix) : 0; index < leaf.length; index++) {
        const key = leaf[index]!
        if (!key.startsWith(prefix)) return found
        found.push(this.#byKey.get(key)!)
      }
    }
    return found
  }

  /** The last leaf that starts at or before `key`, or the first. */
  #leafFor(key: string): number {
    let low = 0
    let high = this.#leaves.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#leaves[middle]![0]! <= key) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** Index of the first key that is not before `key`. */
function lowerBound(leaf: readonly string[], key: string): number {
  let low = 0
  let high = leaf.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (leaf[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
