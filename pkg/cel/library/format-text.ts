import { toText, typeOfValue } from "../values/convert.ts"
import { boundedText } from "../limits.ts"
import { DOUBLE, type CelKind, type CelType } from "../type.ts"
import {
  CelError,
  Double,
  Duration,
  isInt,
  ListValue,
  MapValue,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "../values/values.ts"

/** `"%s of %d".format([…])`. Source: cel-go ext/formatting.go. */

/** A clause of a format string, which formats one argument. */
export interface Clause {
  readonly verb: string
  /** Digits after the decimal point; undefined when the clause does not say. */
  readonly precision: number | undefined
}

/** Digits after the decimal point by default. Source: cel-go ext/formatting.go defaultPrecision. */
const PRECISION = 6
const VERBS = new Set("sdfebxXo")

/** Splits a format string into its parts; returns an error with the message when it is invalid. */
export function parseFormat(format: string): readonly (string | Clause)[] | CelError {
  const parts: (string | Clause)[] = []
  let plain = ""
  for (let i = 0; i < format.length; i++) {
    if (format[i] !== "%") {
      plain += format[i]
      continue
    }
    if (i + 1 >= format.length) return new CelError("unexpected end of string")
    if (format[i + 1] === "%") {
      plain += "%"
      i++
      continue
    }
    const rest = format.slice(i + 1)
    const precision = /^\.([0-9]*)/.exec(rest)
    const verb = rest[precision?.[0].length ?? 0]
    if (precision !== null && precision[1] === "")
      return new CelError("could not parse precision: error while converting precision to integer")
    if (verb === undefined) return new CelError("could not parse formatting clause: unexpected end of string")
    if (!VERBS.has(verb))
      return new CelError(`could not parse formatting clause: unrecognized formatting clause ${JSON.stringify(verb)}`)
    parts.push(plain, { verb, precision: precision === null ? undefined : Number(precision[1]) })
    plain = ""
    i += 1 + (precision?.[0].length ?? 0)
  }
  parts.push(plain)
  return parts
}

export function formatText(format: string, args: ListValue): Value {
  const parts = parseFormat(format)
  if (parts instanceof CelError) return parts
  let text = ""
  let index = 0
  for (const part of parts) {
    if (typeof part === "string") {
      text += part
      continue
    }
    if (index >= args.size) return new CelError(`index ${index} out of range`)
    const shown = formatClause(part, args.at(index))
    index++
    if (typeof shown !== "string") return shown
    text += shown
    boundedText(text.length)
  }
  return text
}

const FAULTS: Readonly<Record<string, string>> = {
  s: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  X: "only integers, byte buffers, and strings can be formatted as hex",
  o: "octal clause can only be used on integers",
}

const TEXTS = [
  "list",
  "map",
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "timestamp",
  "bytes",
  "duration",
  "type",
  "null",
]
const KINDS: Readonly<Record<string, readonly CelKind[]>> = {
  s: TEXTS as readonly CelKind[],
  d: ["int", "uint"],
  f: ["double", "string"],
  e: ["double", "string"],
  b: ["int", "uint", "bool"],
  o: ["int", "uint"],
}
const HEXADECIMAL: readonly CelKind[] = ["int", "uint", "string", "bytes"]

/** Returns the kinds of types that a clause accepts. */
export const formatKinds = (verb: string): readonly CelKind[] => KINDS[verb] ?? HEXADECIMAL

/** Returns the message for an argument of a type that a clause does not accept. */
export const clauseFault = (verb: string, type: CelType): string =>
  `error during formatting: ${FAULTS[verb]}, was given ${type.name}`

function formatClause({ verb, precision = PRECISION }: Clause, value: Value): string | CelError {
  const integer = isInt(value) ? BigInt(value) : value instanceof Uint ? value.value : undefined
  switch (verb) {
    case "s":
      return formatPlain(value)
    case "d":
      if (integer !== undefined) return String(integer)
      break
    case "f":
    case "e": {
      const number = value instanceof Double ? value.value : specialNumber(value)
      if (number !== undefined) return verb === "f" ? fixed(number, precision) : scientific(number, precision)
      break
    }
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0"
      if (integer !== undefined) return integer.toString(2)
      break
    case "o":
      if (integer !== undefined) return integer.toString(8)
      break
    default: {
      const bytes = typeof value === "string" ? Buffer.from(value) : value instanceof Uint8Array ? value : undefined
      const hex = integer?.toString(16) ?? (bytes && Buffer.from(bytes).toString("hex"))
      if (hex !== undefined) return verb === "X" ? hex.toUpperCase() : hex
    }
  }
  return new CelError(clauseFault(verb, typeOfValue(value)))
}

const SPECIAL: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity }
const specialNumber = (value: Value): number | undefined => (typeof value === "string" ? SPECIAL[value] : undefined)

const infinite = (value: number): string | undefined =>
  Number.isNaN(value) ? "NaN" : value === Infinity ? "∞" : value === -Infinity ? "-∞" : undefined

/** Formats with a comma between thousands, as upstream's message printer for English. */
function fixed(value: number, precision: number): string {
  const special = infinite(value)
  if (special !== undefined) return special
  const [whole = "", fraction] = halfToEven(value, Math.min(precision, 100)).split(".")
  const sign = whole.startsWith("-") ? "-" : ""
  const digits = whole.slice(sign.length)
  const head = digits.length % 3
  const groups = digits.slice(head).match(/[0-9]{3}/g) ?? []
  const grouped = sign + [...(head === 0 ? [] : [digits.slice(0, head)]), ...groups].join(",")
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** Formats like toFixed, but rounds half to even, as Go does. */
function halfToEven(value: number, digits: number): string {
  const more = value.toFixed(Math.min(digits + 25, 100))
  const point = more.indexOf(".")
  const kept = more.slice(0, digits === 0 ? point : point + 1 + digits)
  const isMiddle = /^50*$/.test(more.slice(point + 1 + digits))
  return isMiddle && /[02468]$/.test(kept) ? kept : value.toFixed(digits)
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"

/** Formats as upstream's message printer does: `1.052033×10⁰³`. */
function scientific(value: number, precision: number): string {
  const special = infinite(value)
  if (special !== undefined) return special
  const [mantissa = "", exponent = "0"] = value.toExponential(Math.min(precision, 100)).split("e")
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0")
  const raised = Array.from(digits, (digit) => SUPERSCRIPT[Number(digit)]).join("")
  return `${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`
}

function formatPlain(value: Value): string | CelError {
  if (value === null) return "null"
  if (value instanceof TypeValue) return value.type.name
  if (value instanceof ListValue) return formatList(value)
  if (value instanceof MapValue || value instanceof StructValue) return formatMap(value)
  const text = toText(value)
  return typeof text === "string" ? text : new CelError(clauseFault("s", typeOfValue(value)))
}

/** Formats a value inside a list or a map. */
function nested(value: Value): string | CelError {
  if (typeof value === "string") return JSON.stringify(value)
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString())}`
  if (value instanceof Timestamp) return `timestamp("${toText(value) as string}")`
  if (value instanceof Duration) return `duration("${toText(value) as string}")`
  if (!(value instanceof Double)) return formatPlain(value)
  return Number.isFinite(value.value) ? value.value.toFixed(PRECISION) : `"${doubleWord(value.value)}"`
}

const doubleWord = (value: number): string => (Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf")

function formatList(list: ListValue): string | CelError {
  const items: string[] = []
  let length = 0
  for (const item of list) {
    const shown = nested(item)
    if (shown instanceof CelError) return shown
    length += shown.length
    boundedText(length)
    items.push(shown)
  }
  return `[${items.join(", ")}]`
}

function formatMap(map: MapValue | StructValue): string | CelError {
  const entries: (readonly [string, string])[] = []
  let length = 0
  for (const key of map instanceof MapValue ? map.keys() : map.fieldNames()) {
    if (key instanceof Double) return new CelError(`no formatting function for map key of type ${DOUBLE.name}`)
    const name = nested(key)
    const value = nested(map instanceof MapValue ? map.find(key)! : map.get(key as string))
    if (name instanceof CelError) return name
    if (value instanceof CelError) return value
    length += name.length + value.length
    boundedText(length)
    entries.push([name, value])
  }
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, value]) => `${name}:${value}`).join(", ")}}`
}
