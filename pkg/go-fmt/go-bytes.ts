import { Buffer } from "node:buffer"

/**
 * Texts of Go are bytes, which need not be UTF-8: a template can decode or cut them. Here a byte that is part of no
 * character is kept as the lone surrogate U+DC00 + byte, as Python's "surrogateescape" does. Documents hold no such
 * surrogates, because their readers replace them.
 */

const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const ESCAPE = 0xdc00

/** Returns the bytes of a text. */
export function bytesOf(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text, "utf8")
  const parts: Uint8Array[] = []
  for (const sign of text) {
    const byte = strayByte(sign.codePointAt(0)!)
    parts.push(byte === undefined ? Buffer.from(sign, "utf8") : Uint8Array.of(byte))
  }
  return Buffer.concat(parts)
}

/** Returns the text that has these bytes. */
export function textOf(bytes: Uint8Array): string {
  try {
    return STRICT.decode(bytes)
  } catch {
    let text = ""
    for (let at = 0; at < bytes.length;) {
      const sign = signAt(bytes, at)
      text += sign ?? String.fromCharCode(ESCAPE + bytes[at]!)
      at += sign === undefined ? 1 : Buffer.byteLength(sign)
    }
    return text
  }
}

/** Returns the byte that a code point stands for; undefined for a character. */
export const strayByte = (code: number): number | undefined =>
  code >= ESCAPE + 0x80 && code <= ESCAPE + 0xff ? code - ESCAPE : undefined

/** Returns the number of bytes of a text. */
export const byteLength = (text: string): number =>
  text.isWellFormed() ? Buffer.byteLength(text) : bytesOf(text).length

/** Returns the number of code points of a text, of which each stray byte is one. */
export function runeCount(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Returns the character that begins at a byte; undefined when none does. */
function signAt(bytes: Uint8Array, at: number): string | undefined {
  const first = bytes[at]!
  const length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0
  if (length === 0) return undefined
  try {
    return STRICT.decode(bytes.subarray(at, at + length))
  } catch {
    return undefined
  }
}
