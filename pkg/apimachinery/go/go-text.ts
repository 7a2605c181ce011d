import { ExactNumber } from "../json/exact-number.ts"
import { GoValue } from "./go-value.ts"
import { isJsonObject } from "../json/json-value.ts"

const SHORT: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
}

/**
 * Returns a text in double quotes, as Go's `%q` writes it: characters that cannot be printed as `\x00`, `\u00a0` or
 * `\U000e0001`. Source: Go's strconv.Quote.
 */
export const goQuoted = (text: string): string =>
  `"${text.replace(/["\\]|[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/gu, (char) => SHORT[char] ?? escaped(char.codePointAt(0)!))}"`

function escaped(code: number): string {
  const hex = code.toString(16)
  if (code < 0x80) return `\\x${hex.padStart(2, "0")}`
  return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`
}

/** Returns a JSON value as Go's `%v` shows it. */
export function goText(value: unknown): string {
  if (value === null) return "<nil>"
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`
  if (isJsonObject(value))
    return `map[${byKey(value)
      .map(([key, inner]) => `${key}:${goText(inner)}`)
      .join(" ")}]`
  return value instanceof ExactNumber || value instanceof GoValue ? value.text : String(value)
}

/** Returns a JSON value as Go's `%#v` shows it. */
export function goSyntax(value: unknown): string {
  if (value === null) return "interface {}(nil)"
  if (typeof value === "string") return goQuoted(value)
  if (Array.isArray(value)) return `${goType(value)}{${value.map(goSyntax).join(", ")}}`
  if (isJsonObject(value))
    return `${goType(value)}{${byKey(value)
      .map(([key, inner]) => `${goQuoted(key)}:${goSyntax(inner)}`)
      .join(", ")}}`
  if (value instanceof GoValue) return value.syntax
  return value instanceof ExactNumber ? value.text : String(value)
}

/** Returns the type that Go has for a JSON value. */
export function goType(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}"
  if (isJsonObject(value)) return "map[string]interface {}"
  if (value === null) return "<nil>"
  if (value instanceof ExactNumber) return "float64"
  if (value instanceof GoValue) return value.type
  return typeof value === "boolean" ? "bool" : typeof value === "string" ? "string" : "int64"
}

const byKey = (value: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] =>
  Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))

/** Returns a text without those of the characters that it starts with. Source: Go strings.TrimLeft. */
export function trimLeft(text: string, characters: string): string {
  let start = 0
  while (start < text.length && characters.includes(text[start]!)) start++
  return text.slice(start)
}

/**
 * Returns a text without those of the characters that it ends with. (An expression such as `/0+$/` begins anew at each
 * character of a run that is not the last, which takes time by the square of its length.) Source: Go strings.TrimRight.
 */
export function trimRight(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** Reads a port as strconv.ParseUint reads 16 bits. `what` begins its message. @throws Error in Go's words */
export function parseUint16(text: string, what = ""): number {
  const problem = !/^\d+$/.test(text) ? "invalid syntax" : Number(text) > 65_535 ? "value out of range" : undefined
  if (problem === undefined) return Number(text)
  throw new Error(`${what}strconv.ParseUint: parsing ${goQuoted(text)}: ${problem}`)
}

/** The digits of the largest number of 64 bits. */
const MOST_DIGITS = 19

/** Reads a whole number as strconv.ParseInt reads 64 bits; undefined where that fails. */
export function int64Of(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined
  const digits = text.replace(/^[+-]?0*/, "")
  if (digits.length > MOST_DIGITS) return undefined
  const value = text.startsWith("-") ? -BigInt(digits) : BigInt(digits)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** Does the same, and says what is wrong. @throws Error in Go's words */
export function parseInt64(text: string): bigint {
  const value = int64Of(text)
  if (value !== undefined) return value
  const problem = /^[+-]?\d+$/.test(text) ? "value out of range" : "invalid syntax"
  throw new Error(`strconv.ParseInt: parsing ${goQuoted(text)}: ${problem}`)
}
