/**
 * A user who finds nobody else may take three quarters; two greedy users three sevenths each; and so on. Something is
 * always left for who comes next.
 */
const OF_FREE = 3

/**
 * Shares a limited number of places among users, so that no user alone takes them all. A user gets a place while it
 * holds fewer than three times as many as are free: the more greedy users there are, the smaller is the share of each.
 * Source: dynamic thresholds, as switches use them for packet buffers (Choudhury and Hahne, 1998).
 */
export class FairShare {
  readonly #places: number
  readonly #held = new Map<string, number>()
  #taken = 0

  /** `places`: 0 for any number. */
  constructor(places: number) {
    this.#places = places
  }

  /** Takes `count` places for `user`. False when the user's share or the whole is used up; nothing is taken then. */
  take(user: string, count = 1): boolean {
    const held = this.held(user)
    const free = this.#places - this.#taken
    if (this.#places > 0 && (count > free || held >= OF_FREE * free)) return false
    this.#held.set(user, held + count)
    this.#taken += count
    return true
  }

  /** How many places a user holds. */
  held(user: string): number {
    return this.#held.get(user) ?? 0
  }

  /** Gives back what `take` took. */
  giveBack(user: string, count = 1): void {
    const left = this.held(user) - count
    if (left > 0) this.#held.set(user, left)
    else this.#held.delete(user)
    this.#taken -= count
  }
}
