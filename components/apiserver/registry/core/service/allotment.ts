import type { Random } from "../../../../../pkg/clock/random.ts"

export type Refusal = "taken" | "out of range"

/**
 * Numbers of a range, each held by one owner at most: addresses, node ports. Automatic ones are drawn from above a band
 * at the low end that is left to those who ask for a certain number, until the upper part is full. Source:
 * pkg/registry/core/service/{ipallocator,portallocator}, KEP-3070, KEP-3668.
 */
export class Allotment {
  readonly #first: number
  readonly #last: number
  readonly #band: number
  readonly #random: Random
  readonly #owners = new Map<number, string>()

  constructor({
    first,
    last,
    band,
    random,
  }: {
    readonly first: number
    readonly last: number
    /** Numbers at the low end left to wishes. */ readonly band: number
    readonly random: Random
  }) {
    this.#first = first
    this.#last = last
    this.#band = band
    this.#random = random
  }

  /** A number nobody holds, now held by `owner`; nothing when all are taken. */
  draw(owner: string): number | undefined {
    const upper = this.#first + this.#band
    const drawn = this.#free(upper, this.#last) ?? this.#free(this.#first, upper - 1)
    if (drawn !== undefined) this.#owners.set(drawn, owner)
    return drawn
  }

  take(number: number, owner: string): Refusal | undefined {
    if (number < this.#first || number > this.#last) return "out of range"
    const holder = this.#owners.get(number)
    if (holder !== undefined && holder !== owner) return "taken"
    this.#owners.set(number, owner)
    return undefined
  }

  /** What was found in the store counts, even where two claim one number: then the first keeps it. */
  restore(number: number, owner: string): void {
    if (!this.#owners.has(number)) this.#owners.set(number, owner)
  }

  release(number: number, owner: string): void {
    if (this.#owners.get(number) === owner) this.#owners.delete(number)
  }
  heldBy(number: number): string | undefined {
    return this.#owners.get(number)
  }

  /** From a random place on, so that numbers are seldom used again soon. */
  #free(first: number, last: number): number | undefined {
    const count = last - first + 1
    if (count <= 0) return undefined
    const start = Math.floor(this.#random.next() * count)
    for (let i = 0; i < count; i++) {
      const number = first + ((start + i) % count)
      if (!this.#owners.has(number)) return number
    }
    return undefined
  }
}
