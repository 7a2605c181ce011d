import { checkedInt, checkedTimestamp, INT_OVERFLOW, TIMESTAMP_OVERFLOW, UINT_OVERFLOW } from "./arithmetic.ts"
import { formatTimestamp, parseDuration, parseTimestamp } from "./time.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  formatType,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  TYPE,
  UINT,
  type CelType,
} from "../type.ts"
import {
  CelError,
  Double,
  Duration,
  intOf,
  isInt,
  LARGEST_INT,
  LARGEST_UINT,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  SMALLEST_INT,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts"

const ANY_LIST = listOf(DYN)
const ANY_MAP = mapOf(DYN, DYN)
const ANY_OPTIONAL = optionalOf(DYN)

/** Returns the runtime type of a value, without the types of a container's elements. */
export function typeOfValue(value: Value): CelType {
  if (value === null) return NULL
  switch (typeof value) {
    case "string":
      return STRING
    case "boolean":
      return BOOL
    case "number":
    case "bigint":
      return INT
    default:
  }
  if (value instanceof OpaqueValue) return value.type
  // An object with a schema is a map at run time, as upstream.
  if (value instanceof StructValue) return value.isMade ? value.type : ANY_MAP
  if (value instanceof ListValue) return ANY_LIST
  if (value instanceof MapValue) return ANY_MAP
  if (value instanceof Double) return DOUBLE
  if (value instanceof Uint) return UINT
  if (value instanceof Timestamp) return TIMESTAMP
  if (value instanceof Duration) return DURATION
  if (value instanceof TypeValue) return TYPE
  if (value instanceof Optional) return ANY_OPTIONAL
  return value instanceof Uint8Array ? BYTES : DYN
}

/** Numbers with more characters are refused. Differs from upstream, which reads more leading zeros. */
const LONGEST_NUMBER = 100

/** Returns the error of a conversion. Source: cel-go common/types, ConvertToType of each type. */
const noConversion = (from: Value, to: CelType): CelError =>
  new CelError(`type conversion error from '${typeOfValue(from).name}' to '${to.name}'`)

export function toInt(value: Value): Value {
  if (isInt(value)) return value
  if (value instanceof Uint) return value.value > LARGEST_INT ? INT_OVERFLOW : intOf(value.value)
  if (value instanceof Double) {
    const { value: number } = value
    if (Number.isNaN(number) || number <= -(2 ** 63) || number >= 2 ** 63) return INT_OVERFLOW
    return intOf(BigInt(Math.trunc(number)))
  }
  if (value instanceof Duration) return intOf(value.nanos)
  if (value instanceof Timestamp)
    return Math.floor(Number(value.nanos / 1_000_000_000n) - (value.nanos % 1_000_000_000n < 0n ? 1 : 0))
  if (typeof value !== "string" || !/^[+-]?[0-9]+$/.test(value)) return noConversion(value, INT)
  if (value.length > LONGEST_NUMBER) return noConversion(value, INT)
  const number = BigInt(value.replace(/^\+/, ""))
  return number > LARGEST_INT || number < SMALLEST_INT ? noConversion(value, INT) : intOf(number)
}

export function toUint(value: Value): Value {
  if (value instanceof Uint) return value
  if (isInt(value)) return value < 0 ? UINT_OVERFLOW : new Uint(BigInt(value))
  if (value instanceof Double) {
    const { value: number } = value
    if (Number.isNaN(number) || number < 0 || number >= 2 ** 64) return UINT_OVERFLOW
    return new Uint(BigInt(Math.trunc(number)))
  }
  if (typeof value !== "string" || !/^[0-9]+$/.test(value) || value.length > LONGEST_NUMBER)
    return noConversion(value, UINT)
  const number = BigInt(value)
  return number > LARGEST_UINT ? noConversion(value, UINT) : new Uint(number)
}

/** Matches decimal floats as Go reads them; NaN and infinity are matched below. */
const FLOAT = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const FLOAT_WORDS: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, infinity: Infinity }

export function toDouble(value: Value): Value {
  if (value instanceof Double) return value
  if (isInt(value)) return new Double(Number(value))
  if (value instanceof Uint) return new Double(Number(value.value))
  if (typeof value !== "string") return noConversion(value, DOUBLE)
  if (FLOAT.test(value)) {
    const number = Number(value)
    return Number.isFinite(number) ? new Double(number) : noConversion(value, DOUBLE)
  }
  const [, sign, word] = /^([+-]?)(nan|inf|infinity)$/i.exec(value) ?? []
  const special = word === undefined ? undefined : FLOAT_WORDS[word.toLowerCase()]
  if (special === undefined) return noConversion(value, DOUBLE)
  return new Double(sign === "-" ? -special : special)
}

export function toBool(value: Value): Value {
  if (typeof value === "boolean") return value
  if (typeof value === "string" && /^(1|t|T|TRUE|true|True)$/.test(value)) return true
  if (typeof value === "string" && /^(0|f|F|FALSE|false|False)$/.test(value)) return false
  return noConversion(value, BOOL)
}

export function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value
  return typeof value === "string" ? new TextEncoder().encode(value) : noConversion(value, BYTES)
}

export function toText(value: Value): Value {
  if (typeof value === "string") return value
  if (typeof value === "boolean" || isInt(value)) return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Double) return formatDouble(value.value)
  if (value instanceof Timestamp) return formatTimestamp(value.nanos)
  if (value instanceof Duration) return `${formatSeconds(value.nanos)}s`
  if (!(value instanceof Uint8Array)) return noConversion(value, STRING)
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value)
  } catch {
    return new CelError("invalid UTF-8 in bytes, cannot convert to string")
  }
}

export function toDuration(value: Value): Value {
  if (value instanceof Duration) return value
  const nanos = typeof value === "string" ? parseDuration(value) : undefined
  return nanos === undefined ? noConversion(value, DURATION) : new Duration(nanos)
}

export function toTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value
  if (isInt(value)) {
    const seconds = checkedInt(BigInt(value))
    return seconds instanceof CelError ? TIMESTAMP_OVERFLOW : checkedTimestamp(BigInt(value) * 1_000_000_000n)
  }
  const nanos = typeof value === "string" ? parseTimestamp(value) : undefined
  return nanos === undefined ? noConversion(value, TIMESTAMP) : checkedTimestamp(nanos)
}

/** Formats a number as Go's `%g`. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN"
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf"
  if (Object.is(value, -0)) return "-0"
  if (value === 0) return "0"
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e")
  const power = Number(exponent)
  if (power >= -4 && power < 6) return plain(value)
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`
}

/** Formats a number without an exponent. */
function plain(value: number): string {
  const text = String(value)
  if (!text.includes("e")) return text
  return value.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 20 })
}

/** Formats seconds as Go's shortest decimal of a float. */
function formatSeconds(nanos: bigint): string {
  const whole = nanos / 1_000_000_000n
  const rest = nanos % 1_000_000_000n
  return plain(Number(whole) + Number(rest) / 1e9)
}

/** Formats a value for messages. */
export function show(value: Value): string {
  if (value === null) return "null"
  if (value instanceof CelError) return value.message
  if (value instanceof TypeValue) return formatType(value.type)
  if (value instanceof ListValue) return `[${[...value].map(show).join(", ")}]`
  if (value instanceof MapValue)
    return `{${[...value.keys()].map((key) => `${show(key)}: ${show(value.find(key)!)}`).join(", ")}}`
  const text = toText(value)
  return typeof text === "string" ? text : typeOfValue(value).name
}
