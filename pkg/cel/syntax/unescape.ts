/** Unquotes literals. Source: cel-go parser/unescape.go. */
import { pushAll } from "../../lists/push-all.ts"

const NAMED: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
}

/** Returns the text between the quotes of a token, and whether it is raw (backslashes are ordinary characters). */
function unquoted(token: string): { body: string; raw: boolean } {
  const text = token.replaceAll("\r\n", "\n").replaceAll("\r", "\n")
  const raw = /^[rR]/.test(text)
  const quoted = raw ? text.slice(1) : text
  const width = /^("""|''')/.test(quoted) && quoted.length >= 6 ? 3 : 1
  return { body: quoted.slice(width, quoted.length - width), raw }
}

/** Returns the number of an escape, its length in the text, and whether it was written as a byte. */
function escapeAt(body: string, at: number): { code: number; length: number; byte: boolean } {
  const letter = body[at + 1]!
  const hex = letter === "x" || letter === "X" ? 2 : letter === "u" ? 4 : letter === "U" ? 8 : 0
  if (hex > 0) return { code: parseInt(body.slice(at + 2, at + 2 + hex), 16), length: hex + 2, byte: hex === 2 }
  if (/[0-3]/.test(letter)) return { code: parseInt(body.slice(at + 1, at + 4), 8), length: 4, byte: true }
  return { code: NAMED[letter] ?? letter.charCodeAt(0), length: 2, byte: false }
}

/** Returns the text of a string literal, or the message about its fault. */
export function unescapeString(token: string): { readonly text: string } | { readonly fault: string } {
  const { body, raw } = unquoted(token)
  if (raw || !body.includes("\\")) return { text: body }
  let text = ""
  for (let at = 0; at < body.length;) {
    if (body[at] !== "\\") {
      text += body[at]
      at++
      continue
    }
    const { code, length } = escapeAt(body, at)
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return { fault: "invalid unicode code point" }
    text += String.fromCodePoint(code)
    at += length
  }
  return { text }
}

/** Returns the bytes of a bytes literal (without its `b`), or the message about its fault. */
export function unescapeBytes(token: string): { readonly bytes: Uint8Array } | { readonly fault: string } {
  const { body, raw } = unquoted(token)
  const encoder = new TextEncoder()
  if (raw || !body.includes("\\")) return { bytes: encoder.encode(body) }
  const bytes: number[] = []
  let plain = 0
  for (let at = 0; at < body.length;) {
    if (body[at] !== "\\") {
      at++
      continue
    }
    pushAll(bytes, encoder.encode(body.slice(plain, at)))
    const { code, length } = escapeAt(body, at)
    if (/[uU]/.test(body[at + 1]!)) return { fault: "unable to unescape string" }
    bytes.push(code)
    at += length
    plain = at
  }
  pushAll(bytes, encoder.encode(body.slice(plain)))
  return { bytes: Uint8Array.from(bytes) }
}
