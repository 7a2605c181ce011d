/** What an entry takes beside its key and value, in characters. */
const ENTRY = 64
/** An entry that takes more than this part of the cache is not kept. */
const LARGEST_PART = 1 / 8

export interface CacheBounds<V> {
  /** The most entries. */
  readonly entries: number
  /** The most that keys and values may take together, in characters of two bytes. */
  readonly characters: number
  /** Returns what a value takes, in characters of two bytes. Values take nothing unless given. */
  readonly weightOf?: (value: V) => number
  /** Is called after entries were dropped. */
  readonly onDrop?: () => void
}

/**
 * Caches values by texts that users write. Users can write any number of texts of any length, so the cache is bounded
 * by what it takes, not only by its entries. When half of a bound is reached, the entries that were not asked for since
 * the last time are dropped.
 */
export class RecentByText<V> {
  readonly #bounds: CacheBounds<V>
  #young = new Map<string, V>()
  #old = new Map<string, V>()
  /** What the young entries take, in characters. */
  #taken = 0

  constructor(bounds: CacheBounds<V>) {
    this.#bounds = bounds
  }

  get(key: string): V | undefined {
    const found = this.#young.get(key)
    if (found !== undefined) return found
    const before = this.#old.get(key)
    if (before !== undefined) {
      this.#old.delete(key)
      this.set(key, before)
    }
    return before
  }

  /** Keeps a value that the cache does not have yet. */
  set(key: string, value: V): void {
    const { characters, weightOf } = this.#bounds
    const taken = ENTRY + key.length + (weightOf?.(value) ?? 0)
    if (taken > characters * LARGEST_PART) return
    this.#young.set(key, value)
    this.grow(taken)
  }

  /** Counts what a value takes more than when it was set. */
  grow(characters: number): void {
    this.#taken += characters
    if (this.#young.size < this.#bounds.entries / 2 && this.#taken < this.#bounds.characters / 2) return
    this.#old = this.#young
    this.#young = new Map()
    this.#taken = 0
    this.#bounds.onDrop?.()
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
    this.#taken = 0
  }
}
