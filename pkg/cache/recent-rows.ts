const FIRST_ROWS = 8

/**
 * Rows of numbers for the keys that were used last. They are one piece of memory: thousands of small objects that are
 * made one after another during a busy time lie between its garbage, and keep many times their size from being given
 * back.
 */
export class RecentRows {
  readonly #most: number
  readonly #width: number
  /** Where the row of each key is, in rows. The key that was used last is at the end. */
  readonly #places = new Map<number, number>()
  #numbers: Float64Array

  /** Keeps at most `most` rows of `width` numbers. */
  constructor(most: number, width: number) {
    this.#most = most
    this.#width = width
    this.#numbers = new Float64Array(0)
  }

  /** Returns the row of a key, which can be changed until the next `add`; undefined if the key is not known. */
  get(key: number): Float64Array | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#places.delete(key)
    this.#places.set(key, place)
    return this.#rowAt(place)
  }

  /** Adds a row of zeros for a key that is not known. If there are too many, the one used longest ago is forgotten. */
  add(key: number): Float64Array {
    let place = this.#places.size
    if (place === this.#most) {
      const [oldest, freed] = this.#places.entries().next().value!
      this.#places.delete(oldest)
      place = freed
    } else if ((place + 1) * this.#width > this.#numbers.length) {
      const more = new Float64Array(Math.max(2 * place, FIRST_ROWS) * this.#width)
      more.set(this.#numbers)
      this.#numbers = more
    }
    this.#places.set(key, place)
    return this.#rowAt(place).fill(0)
  }

  #rowAt(place: number): Float64Array {
    return this.#numbers.subarray(place * this.#width, (place + 1) * this.#width)
  }
}

/** Returns 53 bits that differ for nearly all texts, as a whole number. Not for what an attacker may choose alone. */
export function numberOf(text: string): number {
  let [low, high] = [0x811c_9dc5, 0x9e37_79b9]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    low = Math.imul(low ^ code, 0x0100_0193)
    high = Math.imul(high ^ code, 0x85eb_ca6b)
    high ^= high >>> 15
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0)
}
