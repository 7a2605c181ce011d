import type { Complex } from "../go-fmt/go-number.ts"
import { goFloat, goInt, TypedNumber } from "../go-fmt/go-number.ts"
import { quoted, unquoteRune } from "../go-fmt/quote.ts"

/** What a constant of a template is: a value, or what keeps it from being one when it is used. */
export type NumberConstant =
  | { readonly value: TypedNumber }
  | { readonly overflow: string }
  /** The constant cannot be read at all: the text of the error. */
  | { readonly fault: string }

const MOST_INT = (1n << 63n) - 1n
const MOST_UINT = (1n << 64n) - 1n

/** Reads a constant of a template. Source: Go text/template newNumber, idealConstant. */
export function numberConstant(text: string, kind: "number" | "complex" | "charConstant"): NumberConstant {
  if (kind === "charConstant") return characterOf(text)
  if (kind === "complex") return complexOf(text)
  if (text.endsWith("i")) {
    const imaginary = floatOf(text.slice(0, -1))
    if (imaginary !== undefined) return complex([0, imaginary])
  }
  const integer = integerOf(text)
  const isFloat = /[.eEpP]/.test(text) && !/^[-+]?0[xX][^pP]*$/.test(text)
  if (integer !== undefined && !isFloat) {
    if (integer >= -MOST_INT - 1n && integer <= MOST_INT) return { value: goInt(integer) }
    if (integer >= 0n && integer <= MOST_UINT && !text.startsWith("+")) return { overflow: text }
  }
  const float = floatOf(text)
  if (float === undefined) return { fault: `illegal number syntax: ${quoted(text)}` }
  return /[.eEpP]/.test(text) ? { value: goFloat(float) } : { fault: `integer overflow: ${quoted(text)}` }
}

function characterOf(text: string): NumberConstant {
  const read = unquoteRune(text.slice(1), "'")
  if (read === undefined) return { fault: "invalid syntax" }
  return text.slice(1 + read.length) === "'"
    ? { value: goInt(read.code) }
    : { fault: `malformed character constant: ${text}` }
}

function complexOf(text: string): NumberConstant {
  const at = text.slice(1).search(/(?<![eEpP])[+-]/) + 1
  const [real, imaginary] = [floatOf(text.slice(0, at)), floatOf(text.slice(at, -1))]
  if (real === undefined || imaginary === undefined) return { fault: "syntax error scanning complex number" }
  return complex([real, imaginary])
}

const complex = (value: Complex): NumberConstant => ({ value: new TypedNumber({ type: "complex128", value }) })

/** Underscores stand between digits, or between a prefix and a digit. */
const UNDERSCORES = /^[-+]?(?:0[xXoObB]_?)?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*(?:[.pP][-+0-9a-fA-F.pP]*(?:_[0-9a-fA-F]+)*)?$/

/** Returns an integer with any of Go's prefixes. */
function integerOf(text: string): bigint | undefined {
  if (text.includes("_") && !UNDERSCORES.test(text)) return undefined
  const { 1: sign, 2: digits = "" } = /^([-+]?)(.*)$/.exec(text.replaceAll("_", ""))!
  const prefixed = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase()
  if (!/^(?:0x[0-9a-f]+|0o[0-7]+|0b[01]+|0|[1-9][0-9]*)$/.test(prefixed)) return undefined
  const size = BigInt(prefixed)
  return sign === "-" ? -size : size
}

const DECIMAL = /^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/
const HEXADECIMAL = /^([-+]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([-+]?[0-9]+)$/

function floatOf(text: string): number | undefined {
  if (text.includes("_") && !UNDERSCORES.test(text)) return undefined
  const plain = text.replaceAll("_", "")
  if (DECIMAL.test(plain)) {
    const value = Number(plain)
    return Number.isFinite(value) ? value : undefined
  }
  const match = HEXADECIMAL.exec(plain)
  if (match === null) return undefined
  const [, sign, whole = "", fraction = "", power] = match
  if (whole + fraction === "") return undefined
  const size = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(power) - 4 * fraction.length)
  return Number.isFinite(size) ? (sign === "-" ? -size : size) : undefined
}
