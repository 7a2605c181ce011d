/**
 * A user may hold this many times as many places as are free. So a single user may take three quarters, each of two
 * greedy users three sevenths, and so on. Some places always stay free for the next user.
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

  /** `places`: the number of places; 0 for no limit. */
  constructor(places: number) {
    this.#places = places
  }

  /**
   * Takes `count` places for `user`. Returns false, and takes none, when the user's share or all places are used up.
   */
  take(user: string, count = 1): boolean {
    const held = this.held(user)
    const free = this.#places - this.#taken
    if (this.#places > 0 && (count > free || held >= OF_FREE * free)) return false
    this.#held.set(user, held + count)
    this.#taken += count
    return true
  }

  /** Returns how many places a user holds. */
  held(user: string): number {
    return this.#held.get(user) ?? 0
  }

  /** Returns places that `take` took. */
  giveBack(user: string, count = 1): void {
    const left = this.held(user) - count
    if (left > 0) this.#held.set(user, left)
    else this.#held.delete(user)
    this.#taken -= count
  }
}
