import type { Page } from "./page.ts"

/** The number of keys in a leaf. An insertion moves at most this many; a listing walks leaf by leaf. */
const LEAF = 128

/** The keys of one resource. */
interface Keys {
  /** Sorted arrays of keys, in order; none is empty. They contain no values, so that a search reads only keys. */
  readonly leaves: string[][]
  /** Keys that were added since the last walk, in no order. */
  readonly added: string[]
}

/**
 * A map that also keeps its keys in order. Looking up or replacing costs as much as in a hash map. The keys with a
 * prefix are found in one walk; before it, each added key is inserted into a leaf. Many keys are never walked over:
 * Events mostly expire unread, and inserting them took a thirtieth of the time of a large cluster. The keys of each
 * resource are stored separately, because every create looks for the quotas and limits of its namespace, and most
 * clusters have none.
 */
export class SortedKeys<V extends { readonly key: string }> {
  readonly #byKey = new Map<string, V>()
  readonly #byResource = new Map<string, Keys>()

  get size(): number {
    return this.#byKey.size
  }
  get(key: string): V | undefined {
    return this.#byKey.get(key)
  }

  set(value: V): void {
    const { key } = value
    const { size } = this.#byKey
    this.#byKey.set(key, value)
    if (this.#byKey.size === size) return
    const resource = resourceOf(key) ?? ""
    const keys = this.#byResource.get(resource)
    if (keys === undefined) this.#byResource.set(resource, { leaves: [[key]], added: [] })
    else keys.added.push(key)
  }

  delete(key: string): void {
    if (!this.#byKey.delete(key)) return
    const resource = resourceOf(key) ?? ""
    const leaves = sorted(this.#byResource.get(resource)!)
    const at = leafFor(leaves, key)
    const leaf = leaves[at]!
    leaf.splice(lowerBound(leaf, key), 1)
    if (leaf.length > 0) return
    leaves.splice(at, 1)
    if (leaves.length === 0) this.#byResource.delete(resource)
  }

  /** Returns all values, in no order. */
  values(): V[] {
    return [...this.#byKey.values()]
  }

  /** Returns the values whose keys start with `prefix`, in the order of their keys. */
  startingWith(prefix: string): V[] {
    const resource = resourceOf(prefix)
    const found: V[] = []
    if (resource !== undefined) {
      const keys = this.#byResource.get(resource)
      if (keys !== undefined) this.#collect(sorted(keys), prefix, found)
      return found
    }
    for (const keys of this.#byResource.values()) this.#collect(sorted(keys), prefix, found)
    return found.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** Does the same as `Storage.page`. */
  page(prefix: string, after: string | undefined, limit: number): Page<V> {
    const keys = this.#byResource.get(resourceOf(prefix) ?? "")
    const items: V[] = []
    let remaining = 0
    if (keys === undefined) return { items, remaining }
    const leaves = sorted(keys)
    const from = after === undefined || after < prefix ? prefix : after
    const first = leafFor(leaves, from)
    for (let at = first; at < leaves.length; at++) {
      const leaf = leaves[at]!
      let index = at === first ? lowerBound(leaf, from) : 0
      if (leaf[index] === after) index++
      let end = leaf.length
      if (!leaf.at(-1)!.startsWith(prefix)) {
        end = index
        while (leaf[end]?.startsWith(prefix) === true) end++
      }
      for (; index < end && items.length < limit; index++) items.push(this.#byKey.get(leaf[index]!)!)
      remaining += end - index
      if (end < leaf.length) break
    }
    return { items, remaining }
  }

  #collect(leaves: Keys["leaves"], prefix: string, found: V[]): void {
    const first = leafFor(leaves, prefix)
    for (let at = first; at < leaves.length; at++) {
      const leaf = leaves[at]!
      const isWithin = leaf.at(-1)!.startsWith(prefix) // so all keys between have the prefix
      for (let index = at === first ? lowerBound(leaf, prefix) : 0; index < leaf.length; index++) {
        const key = leaf[index]!
        if (!isWithin && !key.startsWith(prefix)) return
        found.push(this.#byKey.get(key)!)
      }
    }
  }
}

/** Returns the leaves with all keys in them. */
function sorted({ leaves, added }: Keys): Keys["leaves"] {
  for (const key of added) {
    const at = leafFor(leaves, key)
    const leaf = leaves[at]!
    leaf.splice(lowerBound(leaf, key), 0, key)
    if (leaf.length > LEAF) leaves.splice(at + 1, 0, leaf.splice(LEAF / 2))
  }
  added.length = 0
  return leaves
}

/** Returns `/registry/core/pods/` of `/registry/core/pods/default/web`; undefined for a shorter text. */
export function resourceOf(text: string): string | undefined {
  const group = text.indexOf("/", 1)
  const plural = group === -1 ? -1 : text.indexOf("/", group + 1)
  const end = plural === -1 ? -1 : text.indexOf("/", plural + 1)
  return end === -1 ? undefined : text.slice(0, end + 1)
}

/** Returns the index of the last leaf that starts at or before `key`, or of the first leaf. */
function leafFor(leaves: Keys["leaves"], key: string): number {
  let low = 0
  let high = leaves.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (leaves[middle]![0]! <= key) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns the index of the first key that is not before `key`. */
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
