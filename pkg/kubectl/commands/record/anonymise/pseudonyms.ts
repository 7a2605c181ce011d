import { createHmac } from "node:crypto"
import { WORD } from "./vocabulary.ts"

/** Words of one or two signs tell nothing, and others of their length would be the same. */
const SHORT = 2
const [LEAST, MOST] = [4, 12]
/** The most words that are remembered. */
const MOST_KNOWN = 100_000
const LETTERS = "abcdefghijklmnopqrstuvwxyz"
const SIGNS = `${LETTERS}0123456789`

/**
 * Replaces words by others, the same by the same: so names still match that refer to each other, or begin with one
 * another. Without the key, which is kept nowhere, nobody can tell what a word was.
 */
export class Pseudonyms {
  readonly #key: Uint8Array
  readonly #kept: ReadonlySet<string>
  readonly #known = new Map<string, string>()

  constructor(key: Uint8Array, kept: ReadonlySet<string>) {
    this.#key = key
    this.#kept = kept
  }

  /** Replaces each word of a name; numbers and common words stay. */
  name(text: string): string {
    return text.replaceAll(WORD, (word) => this.#word(word))
  }

  /** Replaces a whole text: equal ones stay equal, and nothing else can be seen. */
  text(text: string): string {
    return text === "" ? "" : `text-${this.#signs(`text ${text}`, 10)}`
  }

  /** Returns bytes that a text always gives. */
  bytes(text: string): Uint8Array {
    return createHmac("sha256", this.#key).update(text).digest()
  }

  #word(word: string): string {
    const lower = word.toLowerCase()
    if (word.length <= SHORT || /^\d+$/.test(word) || this.#kept.has(lower)) return word
    const known = this.#known.get(word)
    if (known !== undefined) return known
    const made = this.#made(word, lower)
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#known.set(word, made)
    return made
  }

  #made(word: string, lower: string): string {
    // A digest of an image must remain one.
    if (/^[0-9a-f]{64}$/.test(word)) return Buffer.from(this.bytes(word)).toString("hex")
    const signs = this.#signs(lower, Math.min(MOST, Math.max(LEAST, word.length)))
    if (word === word.toUpperCase() && /[A-Z]/.test(word)) return signs.toUpperCase()
    return /^[A-Z]/.test(word) ? signs[0]!.toUpperCase() + signs.slice(1) : signs
  }

  /** A name may have to begin with a letter. */
  #signs(text: string, length: number): string {
    const bytes = this.bytes(text)
    return Array.from({ length }, (_, i) => (i === 0 ? LETTERS[bytes[0]! % 26]! : SIGNS[bytes[i]! % 36]!)).join("")
  }
}
