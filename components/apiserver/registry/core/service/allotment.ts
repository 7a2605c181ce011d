import type { Random } from "../../../../../pkg/clock/random.ts"

export type Refusal = "taken" | "out of range"

/**
 * Allocates numbers of a range, such as node ports, each to one owner. Automatic numbers come from above the static
 * band, which is the low end of the range, kept for users who name a number. They come from the band only when the
 * upper part is full. Source: pkg/registry/core/service/{ipallocator,portallocator}, KEP-3070, KEP-3668.
 */
export class Allotment {
  readonly #first: number
  readonly #last: number
  readonly #band: number
  readonly #random: Random
  readonly #isTakenElsewhere: (number: number) => boolean
  readonly #owners = new Map<number, string>()

  constructor({
    first,
    last,
    band,
    random,
    isTakenElsewhere = () => false,
  }: {
    readonly first: number
    readonly last: number
    /** The size of the static band. */ readonly band: number
    readonly random: Random
    /** Whether a number is taken that this process has not allocated; never unless given. */
    readonly isTakenElsewhere?: (number: number) => boolean
  }) {
    this.#first = first
    this.#last = last
    this.#band = band
    this.#random = random
    this.#isTakenElsewhere = isTakenElsewhere
  }

  /** Allocates a free number to `owner`; undefined when every number is taken. */
  draw(owner: string): number | undefined {
    const upper = this.#first + this.#band
    const drawn = this.#free(upper, this.#last) ?? this.#free(this.#first, upper - 1)
    if (drawn !== undefined) this.#owners.set(drawn, owner)
    return drawn
  }

  /**
   * Allocates a number that `owner` names. A number that the same owner holds is taken, too: whoever gives it back after
   * a failure would free what the owner keeps.
   */
  take(number: number, owner: string): Refusal | undefined {
    if (number < this.#first || number > this.#last) return "out of range"
    if (this.#isTaken(number)) return "taken"
    this.#owners.set(number, owner)
    return undefined
  }

  /** Takes over an allocation found in the store. Where two owners have one number, the first keeps it. */
  restore(number: number, owner: string): void {
    if (!this.#owners.has(number)) this.#owners.set(number, owner)
  }

  release(number: number, owner: string): void {
    if (this.#owners.get(number) === owner) this.#owners.delete(number)
  }
  heldBy(number: number): string | undefined {
    return this.#owners.get(number)
  }

  /** Starts at a random number, so that a released number is seldom used again soon. */
  #free(first: number, last: number): number | undefined {
    const count = last - first + 1
    if (count <= 0) return undefined
    const start = Math.floor(this.#random.next() * count)
    for (let i = 0; i < count; i++) {
      const number = first + ((start + i) % count)
      if (!this.#isTaken(number)) return number
    }
    return undefined
  }

  #isTaken(number: number): boolean {
    return this.#owners.has(number) || this.#isTakenElsewhere(number)
  }
}
