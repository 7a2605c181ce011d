import { Walk } from "../limits.ts"
import {
  CelError,
  Double,
  Duration,
  isInt,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts"

export const NO_SUCH_OVERLOAD = new CelError("no such overload")
const UNORDERED = new CelError("NaN values cannot be ordered")

/**
 * Whether two values are equal. Numbers of different types are compared by value; values of other different types are
 * never equal.
 */
export function equal(a: Value, b: Value, walk?: Walk): boolean {
  if (a === b) return true
  if (a === null || b === null) return false
  switch (typeof a) {
    case "string":
    case "boolean":
      return false
    case "number":
    case "bigint":
      return isInt(b) ? false : numbersEqual(a, b)
    default:
      return objectsEqual(a, b, walk)
  }
}

function objectsEqual(a: Exclude<Value, null | string | boolean | number | bigint>, b: Value, before?: Walk): boolean {
  if (a instanceof Double || a instanceof Uint) return numbersEqual(a, b)
  if (a instanceof ListValue) return b instanceof ListValue && listsEqual(a, b, before ?? new Walk())
  if (a instanceof StructValue) return b instanceof StructValue && a.equals(b, before ?? new Walk())
  if (a instanceof MapValue) return b instanceof MapValue && mapsEqual(a, b, before ?? new Walk())
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type.name === b.type.name
  if (a instanceof OpaqueValue) return a.equals(b)
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false
    return a.value === undefined || b.value === undefined ? a.value === b.value : equal(a.value, b.value, before)
  }
  return false
}

function numbersEqual(a: Value, b: Value): boolean {
  const order = compareNumbers(a, b)
  return order === 0
}

function listsEqual(a: ListValue, b: ListValue, walk: Walk): boolean {
  if (a.size !== b.size) return false
  const special = a.equals(b, walk)
  if (special !== undefined) return special
  for (let i = 0; i < a.size; i++) {
    walk.step()
    if (!equal(a.at(i), b.at(i), walk)) return false
  }
  return true
}

function mapsEqual(a: MapValue, b: MapValue, walk: Walk): boolean {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    walk.step()
    const other = b.find(key)
    if (other === undefined || !equal(a.find(key)!, other, walk)) return false
  }
  return true
}

/** Returns -1, 0 or 1; NaN when the numbers have no order; undefined when one value is not a number. */
function compareNumbers(a: Value, b: Value): number | undefined {
  if (a instanceof Double || b instanceof Double) {
    // cel-go compares a double with an int as doubles, though an int beyond 2^53 loses digits.
    const left = a instanceof Double ? a.value : Number(exact(a) ?? NaN)
    const right = b instanceof Double ? b.value : Number(exact(b) ?? NaN)
    if (!isNumber(a) || !isNumber(b)) return undefined
    if (Number.isNaN(left) || Number.isNaN(right)) return NaN
    return left < right ? -1 : left > right ? 1 : 0
  }
  const left = exact(a)
  const right = exact(b)
  if (left === undefined || right === undefined) return undefined
  return left < right ? -1 : left > right ? 1 : 0
}

const isNumber = (value: Value): boolean => isInt(value) || value instanceof Uint || value instanceof Double

/** Returns the number of an int or a uint. JavaScript compares numbers and bigints exactly. */
const exact = (value: Value): number | bigint | undefined =>
  isInt(value) ? value : value instanceof Uint ? value.value : undefined

/** Returns the order of two values of one type, or of two numbers: -1, 0 or 1. */
export function compare(a: Value, b: Value): number | CelError {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === "string") return typeof b === "string" ? compareStrings(a, b) : NO_SUCH_OVERLOAD
  if (typeof a === "boolean") return typeof b === "boolean" ? Number(a) - Number(b) : NO_SUCH_OVERLOAD
  if (a instanceof Timestamp) return b instanceof Timestamp ? order(a.nanos, b.nanos) : NO_SUCH_OVERLOAD
  if (a instanceof Duration) return b instanceof Duration ? order(a.nanos, b.nanos) : NO_SUCH_OVERLOAD
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : NO_SUCH_OVERLOAD
  const numbers = compareNumbers(a, b)
  if (numbers === undefined) return NO_SUCH_OVERLOAD
  return Number.isNaN(numbers) ? UNORDERED : numbers
}

const order = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)

/** Orders strings as Go does: by the bytes of UTF-8, which is the order of code points and not that of UTF-16. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left === right) continue
    // A surrogate is half of a character that sorts after all characters of one UTF-16 unit.
    if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(left) ? 1 : -1
    return left < right ? -1 : 1
  }
  return a.length < b.length ? -1 : 1
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1
  return Math.sign(a.length - b.length)
}
