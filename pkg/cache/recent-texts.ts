import { clearedAtRest } from "./at-rest.ts"

/** After this many new texts the older half is dropped. */
const GENERATION = 2048

/**
 * Lets equal texts share their memory, if they are made within a short time: several parts of a process make the key of
 * the same new object, each for a map of its own.
 */
export class RecentTexts {
  #young = new Map<string, string>()
  #old = new Map<string, string>()

  constructor() {
    clearedAtRest(this)
  }

  /** Returns the equal text that was given before, if it is still known; otherwise this one. */
  of(text: string): string {
    return this.#known(text) ?? this.#added(text)
  }

  /** The same for a part of a longer text: the result does not keep that in memory. */
  copyOf(text: string): string {
    return this.#known(text) ?? this.#added(Buffer.from(text).toString())
  }

  /** Forgets all texts. */
  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }

  #known(text: string): string | undefined {
    const known = this.#young.get(text)
    if (known !== undefined) return known
    const before = this.#old.get(text)
    return before === undefined ? undefined : this.#added(before)
  }

  #added(text: string): string {
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(text, text)
    return text
  }
}
