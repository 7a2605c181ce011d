/** Decoders of the scalar types. Errors have the words of Go's encoding/json. */
import { Buffer } from "node:buffer"
import { DecodeError, type Cursor, type Decode } from "./decoder-cursor.ts"
import { ExactNumber } from "../json/exact-number.ts"
import type { Scalar } from "../field-spec.ts"
import { clearedAtRest } from "../../cache/at-rest.ts"
import { canonicalQuantity, QUANTITY_FORM } from "../scalars/quantity.ts"
import { RawJson } from "../json/raw-json.ts"
import { canonicalMicroTime, canonicalTime } from "../scalars/time.ts"

const wrong =
  (goType: string) =>
  (value: unknown, cursor: Cursor, depth: number): never => {
    throw cursor.mismatch(value, goType, depth - 1)
  }
const wrongString = wrong("string")
const wrongBool = wrong("bool")
const wrongInt32 = wrong("int32")
const wrongDouble = wrong("float64")

/** Differs from upstream: numbers of 64 bits that JavaScript would round are refused; upstream keeps them. */
function wrongInt64(value: unknown, cursor: Cursor, depth: number): never {
  const text = value instanceof ExactNumber ? value.text : typeof value === "number" ? String(value) : ""
  if (/^-?\d+$/.test(text) && text.length <= 20 && BigInt.asIntN(64, BigInt(text)) === BigInt(text))
    throw new DecodeError(
      `${cursor.path(depth - 1)}: ${text} cannot be stored exactly: give an integer between ` +
        `${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}`,
    )
  throw cursor.mismatch(value, "int64", depth - 1)
}

const text =
  (canonical: (value: string) => string | undefined, problem: (value: string) => string): Decode =>
  (value, cursor, depth) => {
    if (typeof value !== "string") throw cursor.mismatch(value, "string", depth - 1)
    const made = canonical(value)
    if (made === undefined) throw new DecodeError(problem(value))
    return made
  }
const timeProblem =
  (layout: string) =>
  (value: string): string =>
    `parsing time ${JSON.stringify(value)} as "${layout}": cannot parse ${JSON.stringify(value)} as "2006"`

/**
 * Caches the canonical forms of texts; the cache is emptied when it is full. Objects repeat the same few quantities and
 * times, and making their canonical form costs more than all other decoding of a Pod.
 */
function cached(canonical: (value: string) => string | undefined): (value: string) => string | undefined {
  const cache = clearedAtRest(new Map<string, string>())
  return (value) => {
    const found = cache.get(value)
    if (found !== undefined) return found
    const made = value.length > LONGEST ? undefined : canonical(value)
    if (made === undefined) return undefined
    if (cache.size >= MOST_CACHED) cache.clear()
    cache.set(value, made)
    return made
  }
}
const MOST_CACHED = 4096
/** Longest accepted text, in UTF-16 units, so that no client makes the server compute with megabytes of digits. */
const LONGEST = 256

const cachedQuantity = cached(canonicalQuantity)
const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
/** Base64 as Go writes it: the bits that the last character has too many are zero. */
const CANONICAL_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const any: Decode = (value) => value

export const SCALARS: Record<Scalar, Decode> = {
  string: (value, cursor, depth) => (typeof value === "string" ? value : wrongString(value, cursor, depth)),
  bool: (value, cursor, depth) => (typeof value === "boolean" ? value : wrongBool(value, cursor, depth)),
  int32: (value, cursor, depth) =>
    typeof value === "number" && value === (value | 0) ? value : wrongInt32(value, cursor, depth),
  int64: (value, cursor, depth) =>
    typeof value === "number" && Number.isSafeInteger(value) ? value : wrongInt64(value, cursor, depth),
  double: (value, cursor, depth) => {
    const number = value instanceof ExactNumber ? Number(value.text) : value
    return typeof number === "number" && Number.isFinite(number) ? number : wrongDouble(value, cursor, depth)
  },
  bytes: (value, cursor, depth) => {
    if (Array.isArray(value)) return Buffer.from(value.map((item) => byteOf(item, cursor, depth))).toString("base64")
    if (typeof value !== "string") throw cursor.mismatch(value, "[]uint8", depth - 1)
    if (CANONICAL_BASE64.test(value)) return value
    // Go's decoder ignores line ends inside base64.
    const joined = value.replace(/[\r\n]/g, "")
    if (!BASE64.test(joined)) throw new DecodeError(`illegal base64 data at input byte ${badByte(joined)}`)
    return CANONICAL_BASE64.test(joined) ? joined : Buffer.from(joined, "base64").toString("base64")
  },
  quantity: (value) => {
    // A bare number is accepted, as Quantity.UnmarshalJSON does.
    const given = typeof value === "number" ? String(value) : value instanceof ExactNumber ? value.text : value
    const made = typeof given === "string" ? cachedQuantity(given) : undefined
    if (made === undefined) throw new DecodeError(QUANTITY_FORM)
    return made
  },
  intOrString: (value, cursor, depth) =>
    typeof value === "string" || (typeof value === "number" && value === (value | 0))
      ? value
      : wrongInt32(value, cursor, depth),
  time: text(cached(canonicalTime), timeProblem("2006-01-02T15:04:05Z07:00")),
  microTime: text(cached(canonicalMicroTime), timeProblem("2006-01-02T15:04:05.000000Z07:00")),
  duration: text(
    (value) => (DURATION.test(value) ? value : undefined),
    (value) => `time: invalid duration ${JSON.stringify(value)}`,
  ),
  json: any,
  rawExtension: (value) => (value instanceof RawJson ? value : RawJson.of(value)),
  fieldsV1: any,
}

/** Go's decoder takes a list of numbers for bytes too, and null for zero. */
function byteOf(value: unknown, cursor: Cursor, depth: number): number {
  if (value === null) return 0
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255) return value
  throw cursor.mismatch(value, "uint8", depth - 1)
}

/**
 * Returns which byte Go names in text that is not base64: one that cannot stand there, or the first of an incomplete
 * group of four. Source: encoding/base64 decodeQuantum.
 */
function badByte(value: string): number {
  const at = value.search(/[^A-Za-z0-9+/]/)
  if (at === -1) return value.length - (value.length % 4)
  const place = at % 4
  if (value[at] !== "=" || place < 2) return at
  if (place === 3) return at + 1
  return at + 1 === value.length ? value.length : value[at + 1] === "=" ? at + 2 : at
}
