import type { Shelved } from "./shelf.ts"
import { StoredObject, type Elsewhere } from "./stored-object.ts"

/**
 * The references to loans are checked for dead ones when there are this many, and then at twice the number of those
 * left.
 */
const FIRST_SWEEP = 64

/**
 * Makes the StoredObjects of shelved objects, and finds those that are still in use: before a write deletes an object's
 * row, they must read its content, since a list is sent in pieces.
 */
export class Loans {
  readonly #frozen: boolean
  #loans: WeakRef<Loan>[] = []
  #sweepAt = FIRST_SWEEP

  constructor(frozen: boolean) {
    this.#frozen = frozen
  }

  /** @param shelved sorted by key */
  lend(shelved: readonly Shelved[], elsewhere: Elsewhere): readonly StoredObject[] {
    const loan = new Loan(shelved, elsewhere, this.#frozen)
    if (this.#loans.length >= this.#sweepAt) {
      this.#loans = this.#loans.filter((each) => each.deref() !== undefined)
      this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#loans.length)
    }
    this.#loans.push(new WeakRef(loan))
    return loan.objects
  }

  /** Makes every StoredObject of this key that was lent keep its content. */
  hold(key: string): void {
    for (const loan of this.#loans) loan.deref()?.find(key)?.hold()
  }
}

/** The StoredObjects of one read. Each has the loan as its `elsewhere`, so the loan lives as long as one of them. */
class Loan implements Elsewhere {
  readonly objects: readonly StoredObject[]
  readonly #elsewhere: Elsewhere

  constructor(shelved: readonly Shelved[], elsewhere: Elsewhere, frozen: boolean) {
    this.#elsewhere = elsewhere
    this.objects = shelved.map((each) => new StoredObject({ ...each, seldomRead: true }, { elsewhere: this }, frozen))
  }

  get parse(): Elsewhere["parse"] {
    return this.#elsewhere.parse
  }

  read(revision: number): Uint8Array {
    return this.#elsewhere.read(revision)
  }

  find(key: string): StoredObject | undefined {
    let [low, high] = [0, this.objects.length - 1]
    while (low <= high) {
      const middle = (low + high) >> 1
      const found = this.objects[middle]!
      if (found.key === key) return found
      if (found.key < key) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }
}
