import { padded, type Flags } from "./flags.ts"
import { formatFloat, type FloatForm } from "./float.ts"
import type { Complex } from "./go-number.ts"
import { isPrintable, quotedRune } from "./quote.ts"

const BASES: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 }

/** Returns an integer as a verb prints it; undefined for a verb that prints no integers. Source: Go fmt/format.go. */
export function formatInteger(value: bigint, verb: string, flags: Flags, isSigned: boolean): string | undefined {
  if (verb === "v" && flags.sharpV && !isSigned) return integerIn(16, value, "v", { ...flags, sharp: true })
  const base = BASES[verb]
  if (base !== undefined) return integerIn(base, value, verb, flags)
  if (verb === "c") return padded(runeOf(value), flags)
  if (verb === "q") return padded(quotedRune(runeOf(value), flags.plus), flags)
  return verb === "U" ? unicode(value, flags) : undefined
}

function integerIn(base: number, value: bigint, verb: string, flags: Flags): string {
  const isNegative = value < 0n
  let digits = (isNegative ? -value : value).toString(base)
  if (verb === "X") digits = digits.toUpperCase()
  let least = 0
  if (flags.precision !== undefined) {
    if (flags.precision === 0 && value === 0n) return padded("", flags, false)
    least = flags.precision
  } else if (flags.zero && !flags.minus && flags.width !== undefined)
    least = flags.width - (isNegative || flags.plus || flags.space ? 1 : 0)
  digits = digits.padStart(least, "0")
  if (flags.sharp) {
    if (base === 2) digits = `0b${digits}`
    else if (base === 8 && !digits.startsWith("0")) digits = `0${digits}`
    else if (base === 16) digits = `0${verb === "X" ? "X" : "x"}${digits}`
  }
  if (verb === "O") digits = `0o${digits}`
  return padded(signOf(isNegative, flags) + digits, flags, false)
}

const signOf = (isNegative: boolean, { plus, space }: Flags): string =>
  isNegative ? "-" : plus ? "+" : space ? " " : ""

/** Returns the character with a code; U+FFFD for a code without one. */
const runeOf = (code: bigint): string =>
  code < 0n || code > 0x10ffffn || (code >= 0xd800n && code < 0xe000n) ? "\ufffd" : String.fromCodePoint(Number(code))

function unicode(value: bigint, flags: Flags): string {
  const code = BigInt.asUintN(64, value)
  const digits = code
    .toString(16)
    .toUpperCase()
    .padStart(Math.max(flags.precision ?? 4, 4), "0")
  const isCharacter = code <= 0x10ffffn && (code < 0xd800n || code >= 0xe000n)
  const sign = flags.sharp && isCharacter ? runeOf(code) : ""
  return padded(`U+${digits}${sign !== "" && isPrintable(sign) ? ` '${sign}'` : ""}`, flags, false)
}

const FORMS: Readonly<Record<string, readonly [FloatForm, number]>> = {
  v: ["g", -1],
  b: ["b", -1],
  g: ["g", -1],
  G: ["G", -1],
  x: ["x", -1],
  X: ["X", -1],
  f: ["f", 6],
  F: ["f", 6],
  e: ["e", 6],
  E: ["E", 6],
}

/** Returns a float as a verb prints it; undefined for a verb that prints no floats. Source: Go fmt/format.go. */
export function formatFloatVerb(value: number, verb: string, flags: Flags): string | undefined {
  const known = FORMS[verb]
  if (known === undefined) return undefined
  const [form, usual] = known
  const precision = flags.precision ?? usual
  const text = formatFloat(value, form, precision)
  const isNegative = text.startsWith("-")
  let digits = text.replace(/^[-+]/, "")
  if (/^[IN]/.test(digits)) {
    const sign = isNegative ? "-" : flags.space && !flags.plus ? " " : "+"
    return padded((digits === "NaN" && !flags.space && !flags.plus ? "" : sign) + digits, flags, false)
  }
  if (flags.sharp && form !== "b") digits = withPoint(digits, form, precision)
  const sign = signOf(isNegative, flags)
  if (sign !== "" && flags.zero && !flags.minus && flags.width !== undefined)
    return sign + digits.padStart(flags.width - 1, "0")
  return padded(sign + digits, flags)
}

/** Returns a number with a point and with the zeros that `%#g` keeps. */
function withPoint(text: string, form: FloatForm, precision: number): string {
  const keepsZeros = form === "g" || form === "G" || form === "x"
  let missing = keepsZeros ? (precision === -1 ? 6 : precision) : 0
  const at = text.search(form === "x" || form === "X" ? /[pP]/ : /[eE]/)
  let digits = at === -1 ? text : text.slice(0, at)
  const tail = at === -1 ? "" : text.slice(at)
  const significant = digits.replace(".", "").replace(/^0+/, "")
  missing -= significant.length
  if (!digits.includes(".")) {
    if (digits === "0") missing--
    digits += "."
  }
  return digits + "0".repeat(Math.max(missing, 0)) + tail
}

/** Returns a complex number as a verb prints it. */
export function formatComplex([real, imaginary]: Complex, verb: string, flags: Flags): string | undefined {
  const first = formatFloatVerb(real, verb, flags)
  return first === undefined ? undefined : `(${first}${formatFloatVerb(imaginary, verb, { ...flags, plus: true })}i)`
}
