import { bytesOf, strayByte, textOf } from "./go-bytes.ts"

const NAMED: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\\": "\\\\",
}

const PRINTABLE = /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u

/** Returns whether Go prints a character as it is. Source: strconv.IsPrint. */
export const isPrintable = (sign: string): boolean => PRINTABLE.test(sign)

/** Returns a text in double quotes as Go's `%q` prints it, or as `%+q`, which escapes all that is not ASCII. */
export const quoted = (text: string, onlyAscii = false): string => {
  let out = '"'
  for (const sign of text) out += escapedSign(sign, '"', onlyAscii)
  return out + '"'
}

/** Returns a character in single quotes, as Go's `%q` prints an integer. */
export const quotedRune = (sign: string, onlyAscii = false): string => `'${escapedSign(sign, "'", onlyAscii)}'`

function escapedSign(sign: string, quote: string, onlyAscii: boolean): string {
  if (sign === quote) return `\\${sign}`
  const named = NAMED[sign]
  if (named !== undefined) return named
  const code = sign.codePointAt(0)!
  if (code < 0x80 ? code >= 0x20 && code < 0x7f : !onlyAscii && isPrintable(sign)) return sign
  const byte = code < 0x20 || code === 0x7f ? code : strayByte(code)
  if (byte !== undefined) return `\\x${byte.toString(16).padStart(2, "0")}`
  const hex = code.toString(16)
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`
}

/** Returns whether a text can stand between backquotes. Source: strconv.CanBackquote. */
export const canBackquote = (text: string): boolean => !/[\0-\x08\x0a-\x1f\x7f`\ufeff\ud800-\udfff]/u.test(text)

/** What strconv answers for a constant that it cannot read. */
export const INVALID_SYNTAX = "invalid syntax"

/**
 * Returns the text that a Go constant in double quotes or backquotes stands for; undefined where Go answers "invalid
 * syntax". Source: strconv.Unquote.
 */
export function unquoted(constant: string): string | undefined {
  const quote = constant[0]
  if (constant.length < 2 || quote !== constant.at(-1)) return undefined
  const inner = constant.slice(1, -1)
  if (quote === "`") return inner.includes("`") ? undefined : inner.replaceAll("\r", "")
  if (quote !== '"' || inner.includes("\n")) return undefined
  return unescaped(inner, quote)
}

/** Returns a text with its escapes replaced; undefined when one is wrong or the quote stands unescaped. */
export function unescaped(text: string, quote: '"' | "'"): string | undefined {
  if (!text.includes("\\") && !text.includes(quote)) return text
  let out = ""
  for (let rest = text; rest !== "";) {
    const read = unquoteRune(rest, quote)
    if (read === undefined) return undefined
    out += read.byte === undefined ? String.fromCodePoint(read.code) : String.fromCharCode(0xdc00 + read.byte)
    rest = rest.slice(read.length)
  }
  // Escaped bytes can form a character together.
  return textOf(bytesOf(out))
}

/** The character at the start of a text, and the length of its constant; `byte` for an escaped byte from 0x80. */
export interface ReadRune {
  readonly code: number
  readonly byte?: number
  readonly length: number
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, "\\": 92 }

/** Reads one character of a constant. Source: strconv.UnquoteChar. */
export function unquoteRune(text: string, quote: '"' | "'"): ReadRune | undefined {
  const code = text.codePointAt(0)
  if (code === undefined || text[0] === quote) return undefined
  if (code !== 92) return { code, length: code > 0xffff ? 2 : 1 }
  const letter = text[1] ?? ""
  const named = ESCAPES[letter] ?? (letter === quote ? quote.charCodeAt(0) : undefined)
  if (named !== undefined) return { code: named, length: 2 }
  const {
    0: whole = "",
    1: hex,
    2: octal = "",
  } = /^\\(?:(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|([0-7]{3}))/.exec(text) ?? []
  if (whole === "") return undefined
  const value = hex === undefined ? Number.parseInt(octal, 8) : Number.parseInt(hex.slice(1), 16)
  const isByte = hex === undefined || hex.startsWith("x")
  if (isByte ? value > 255 : value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return undefined
  return { code: value, ...(isByte && value >= 0x80 ? { byte: value } : {}), length: whole.length }
}
