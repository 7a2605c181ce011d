import { Buffer } from "node:buffer"

/**
 * Most characters of all warnings of a response; each is cut to 256 if they do not fit. Source: apiserver
 * pkg/endpoints/filters/warning.go.
 */
const MOST_CHARACTERS = 4096
const MOST_OF_EACH = 256

/**
 * The Warning headers (RFC 7234, 5.5) of a response, each text once. Clients refuse responses with too large a head:
 * all warnings together have at most 4,096 characters. If they do not fit, each is cut to 256 characters, and those
 * beyond the limit are left out.
 */
export class Warnings {
  readonly #given = new Set<string>()
  #kept: string[] = []
  #characters = 0
  #cutting = false

  add(text: string): void {
    if (text === "" || (this.#cutting && this.#characters >= MOST_CHARACTERS) || this.#given.has(text)) return
    this.#given.add(text)
    if (!this.#cutting && this.#characters + lengthOf(text) > MOST_CHARACTERS) {
      this.#cutting = true
      this.#characters = 0
      this.#kept = []
      for (const earlier of this.#given) this.#keep(cut(earlier))
    } else this.#keep(this.#cutting ? cut(text) : text)
  }

  /**
   * Returns the values of the headers. Over HTTP/2 what is beyond ASCII is sent in UTF-8, as Go sends it; over HTTP/1.1
   * it becomes question marks, since Bun would encode the bytes once more.
   */
  headers(overHttp2: boolean): string[] {
    return this.#kept.map((text) => `299 - ${quoted(text).replaceAll(BEYOND, overHttp2 ? bytesOf : () => "?")}`)
  }

  #keep(text: string): void {
    this.#kept.push(text)
    this.#characters += lengthOf(text)
  }
}

/** The length in code points, as Go counts runes. */
const lengthOf = (text: string): number => Array.from(text).length
const cut = (text: string): string =>
  text.length <= MOST_OF_EACH ? text : Array.from(text).slice(0, MOST_OF_EACH).join("")

const BEYOND = /[^\x20-\x7e]/gu
/** Returns one character for each byte of UTF-8, as Node takes headers. */
const bytesOf = (beyond: string): string => Buffer.from(beyond, "utf8").toString("latin1")

/** Formats a quoted-string of RFC 9110: characters that a header may not have become spaces or are escaped. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, " ").replaceAll(/["\\]/g, "\\$&")}"`
