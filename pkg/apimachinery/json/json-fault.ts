import { Buffer } from "node:buffer"

/**
 * Returns Go's message about text that is not JSON, which clients match. Only for text that JSON.parse has refused.
 * Source: encoding/json scanner.go.
 */
export function jsonFault(text: string): string {
  const reader = new Reader(text)
  try {
    reader.value()
    reader.end()
  } catch (err) {
    if (err instanceof Fault) return err.message
    // The nesting exceeded the stack; Go's decoder has a limit too.
    if (err instanceof RangeError) return "invalid character '[' exceeded max depth"
    throw err
  }
  return UNEXPECTED_END
}

const UNEXPECTED_END = "unexpected end of JSON input"

class Fault extends Error {}

const LITERALS: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" }

class Reader {
  readonly #text: string
  #at = 0
  constructor(text: string) {
    this.#text = text
  }

  /** Reads one value, with the white space around it. */
  value(): void {
    this.#space()
    const char = this.#text[this.#at]
    if (char === "{") this.#object()
    else if (char === "[") this.#array()
    else if (char === '"') this.#string()
    else if (char !== undefined && /[-\d]/.test(char)) this.#number()
    else if (char !== undefined && LITERALS[char] !== undefined) this.#literal(LITERALS[char])
    else throw this.#invalid("looking for beginning of value")
    this.#space()
  }

  end(): void {
    if (this.#at < this.#text.length) throw this.#invalid("after top-level value")
  }

  #object(): void {
    if (this.#empty("}")) return
    for (;;) {
      this.#space()
      if (this.#text[this.#at] !== '"') throw this.#invalid("looking for beginning of object key string")
      this.#string()
      this.#space()
      if (!this.#take(":")) throw this.#invalid("after object key")
      this.value()
      if (this.#take("}")) return
      if (!this.#take(",")) throw this.#invalid("after object key:value pair")
    }
  }

  #array(): void {
    if (this.#empty("]")) return
    for (;;) {
      this.value()
      if (this.#take("]")) return
      if (!this.#take(",")) throw this.#invalid("after array element")
    }
  }

  /** Opens a list or an object, and closes it again when it is empty. */
  #empty(closing: string): boolean {
    this.#at++
    this.#space()
    return this.#take(closing)
  }

  #string(): void {
    this.#at++
    while (!this.#take('"')) {
      const char = this.#text[this.#at]
      if (char === undefined || char < " ") throw this.#invalid("in string literal")
      this.#at++
      if (char !== "\\") continue
      if (this.#take("u")) for (let i = 0; i < 4; i++) this.#one(/[\da-fA-F]/, "in \\u hexadecimal character escape")
      else this.#one(/["\\/bfnrt]/, "in string escape code")
    }
  }

  #number(): void {
    if (this.#take("-") && !/\d/.test(this.#text[this.#at] ?? "")) throw this.#invalid("in numeric literal")
    if (!this.#take("0")) this.#digits()
    if (this.#take(".")) {
      this.#one(/\d/, "after decimal point in numeric literal")
      this.#digits()
    }
    if (!this.#take("e") && !this.#take("E")) return
    if (!this.#take("+")) this.#take("-")
    this.#one(/\d/, "in exponent of numeric literal")
    this.#digits()
  }

  #literal(word: string): void {
    this.#at++
    for (const letter of word.slice(1))
      if (!this.#take(letter)) throw this.#invalid(`in literal ${word} (expecting '${letter}')`)
  }

  #digits(): void {
    while (/\d/.test(this.#text[this.#at] ?? "")) this.#at++
  }

  #one(allowed: RegExp, where: string): void {
    if (!allowed.test(this.#text[this.#at] ?? "")) throw this.#invalid(where)
    this.#at++
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  #space(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at++
  }

  #invalid(where: string): Fault {
    const code = this.#text.codePointAt(this.#at)
    return new Fault(code === undefined ? UNEXPECTED_END : `invalid character ${quoted(firstByte(code))} ${where}`)
  }
}

/** Go reports the first byte of a multi-byte character, as if that were a character. */
const firstByte = (code: number): string =>
  String.fromCharCode(code < 0x80 ? code : Buffer.from(String.fromCodePoint(code))[0]!)

/** Formats a character as Go does. */
function quoted(char: string): string {
  if (char === "'") return "'\\''"
  if (char === '"') return `'"'`
  return `'${JSON.stringify(char)
    .slice(1, -1)
    .replace(/^\\u00(..)$/, "\\x$1")}'`
}
