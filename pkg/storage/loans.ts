import type { Shelved } from "./shelf.ts"
import { StoredObject, type Elsewhere } from "./stored-object.ts"

/**
 * The references to loans are checked for dead ones when there are this many, and then at twice the number of those
 * left.
 */
const FIRST_SWEEP = 64

/** A loan of several objects: their keys are from `first` to `last`. */
interface LentTogether {
  readonly first: string
  readonly last: string
  readonly loan: WeakRef<Loan>
}

/**
 * Makes the StoredObjects of shelved objects, and finds those that are still in use: before a write deletes an object's
 * row, they must read its content, since a list is sent in pieces.
 *
 * Every write to the store asks whether its object is lent. So the answer must not take longer the more was read: a
 * search through all loans took milliseconds after some thousands of reads, and kept the loans alive as well, because
 * what a WeakRef returns lives until the end of the turn.
 */
export class Loans {
  readonly #frozen: boolean
  readonly #single = new Map<string, WeakRef<StoredObject>>()
  #sweepSingleAt = FIRST_SWEEP
  #together: LentTogether[] = []
  #sweepTogetherAt = FIRST_SWEEP

  constructor(frozen: boolean) {
    this.#frozen = frozen
  }

  /** Returns the same StoredObject again while an earlier one is in use. */
  lendOne(shelved: Shelved, elsewhere: Elsewhere): StoredObject {
    const { key, revision } = shelved
    const known = this.#single.get(key)?.deref()
    if (known?.revision === revision) return known
    const lent = new StoredObject({ ...shelved, seldomRead: true }, { elsewhere }, this.#frozen)
    if (this.#single.size >= this.#sweepSingleAt) {
      for (const [key, ref] of this.#single) if (ref.deref() === undefined) this.#single.delete(key)
      this.#sweepSingleAt = Math.max(FIRST_SWEEP, 2 * this.#single.size)
    }
    this.#single.set(key, new WeakRef(lent))
    return lent
  }

  /** @param shelved sorted by key */
  lend(shelved: readonly Shelved[], elsewhere: Elsewhere): readonly StoredObject[] {
    if (shelved.length === 0) return []
    const loan = new Loan(shelved, elsewhere, this.#frozen)
    if (this.#together.length >= this.#sweepTogetherAt) {
      this.#together = this.#together.filter(({ loan }) => loan.deref() !== undefined)
      this.#sweepTogetherAt = Math.max(FIRST_SWEEP, 2 * this.#together.length)
    }
    this.#together.push({ first: shelved[0]!.key, last: shelved.at(-1)!.key, loan: new WeakRef(loan) })
    return loan.objects
  }

  /** Makes every StoredObject of this key that was lent keep its content. */
  hold(key: string): void {
    this.#single.get(key)?.deref()?.hold()
    for (const { first, last, loan } of this.#together) if (first <= key && key <= last) loan.deref()?.find(key)?.hold()
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
