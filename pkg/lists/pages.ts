/** How many pages a list may have: of full pages that is more than any server holds. */
const MOST_PAGES = 20_000
/** How many pages without any object may follow each other. */
const MOST_EMPTY = 100

/**
 * Follows the pages of one list of an API server by their `continue` tokens. A server may go on for ever, because it is
 * broken or not well-meaning; whoever reads to the end of a list must not.
 */
export class Pages {
  #pages = 0
  #empty = 0
  #token = ""

  /** The token of the next page; empty before the first one, and behind the last one. */
  get token(): string {
    return this.#token
  }

  /**
   * Takes the token of a page and how many objects it had; returns whether another page follows.
   * @throws Error for a list without an end; `what` names it
   */
  hasMore(token: string | undefined, objects: number, what: string): boolean {
    if (token === undefined || token === "") return false
    this.#empty = objects === 0 ? this.#empty + 1 : 0
    if (token === this.#token || this.#empty > MOST_EMPTY || ++this.#pages > MOST_PAGES)
      throw new Error(`the server does not come to the end of its list of ${what}`)
    this.#token = token
    return true
  }
}
