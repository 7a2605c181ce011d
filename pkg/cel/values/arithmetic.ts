import { NO_SUCH_OVERLOAD } from "./compare.ts"
import { boundedText } from "../limits.ts"
import {
  CelError,
  Double,
  Duration,
  intOf,
  isInt,
  LARGEST_INT,
  LARGEST_UINT,
  ListValue,
  SMALLEST_INT,
  Timestamp,
  Uint,
  type Value,
} from "./values.ts"

/** Source: cel-go common/types/{err,overflow}.go. */
export const INT_OVERFLOW = new CelError("integer overflow")
export const UINT_OVERFLOW = new CelError("unsigned integer overflow")
export const TIMESTAMP_OVERFLOW = new CelError("timestamp overflow")
const DIVISION_BY_ZERO = new CelError("division by zero")
const MODULUS_BY_ZERO = new CelError("modulus by zero")

/** Returns an int of 64 bits, or the error of an overflow. */
export const checkedInt = (value: bigint): number | bigint | CelError =>
  value > LARGEST_INT || value < SMALLEST_INT ? INT_OVERFLOW : intOf(value)

const checkedUint = (value: bigint): Uint | CelError =>
  value > LARGEST_UINT || value < 0n ? UINT_OVERFLOW : new Uint(value)

const checkedDuration = (nanos: bigint): Duration | CelError =>
  nanos > LARGEST_INT || nanos < SMALLEST_INT ? INT_OVERFLOW : new Duration(nanos)

const EARLIEST = -62135596800n * 1_000_000_000n
const LATEST = 253402300800n * 1_000_000_000n - 1n

/** Returns an instant of the years 1 to 9999, or the error of an overflow. */
export const checkedTimestamp = (nanos: bigint): Timestamp | CelError =>
  nanos < EARLIEST || nanos > LATEST ? TIMESTAMP_OVERFLOW : new Timestamp(nanos)

export function add(a: Value, b: Value): Value {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b
    return Number.isSafeInteger(sum) ? sum : checkedInt(BigInt(a) + BigInt(b))
  }
  if (typeof a === "string") {
    if (typeof b !== "string") return NO_SUCH_OVERLOAD
    boundedText(a.length + b.length)
    return a + b
  }
  if (isInt(a)) return isInt(b) ? checkedInt(BigInt(a) + BigInt(b)) : NO_SUCH_OVERLOAD
  if (a instanceof ListValue) return b instanceof ListValue ? a.concat(b) : NO_SUCH_OVERLOAD
  if (a instanceof Double) return b instanceof Double ? new Double(a.value + b.value) : NO_SUCH_OVERLOAD
  if (a instanceof Uint) return b instanceof Uint ? checkedUint(a.value + b.value) : NO_SUCH_OVERLOAD
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Uint8Array.from([...a, ...b]) : NO_SUCH_OVERLOAD
  if (a instanceof Duration) {
    if (b instanceof Duration) return checkedDuration(a.nanos + b.nanos)
    return b instanceof Timestamp ? checkedTimestamp(a.nanos + b.nanos) : NO_SUCH_OVERLOAD
  }
  if (a instanceof Timestamp && b instanceof Duration) return checkedTimestamp(a.nanos + b.nanos)
  return NO_SUCH_OVERLOAD
}

export function subtract(a: Value, b: Value): Value {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b
    return Number.isSafeInteger(difference) ? difference : checkedInt(BigInt(a) - BigInt(b))
  }
  if (isInt(a)) return isInt(b) ? checkedInt(BigInt(a) - BigInt(b)) : NO_SUCH_OVERLOAD
  if (a instanceof Double) return b instanceof Double ? new Double(a.value - b.value) : NO_SUCH_OVERLOAD
  if (a instanceof Uint) return b instanceof Uint ? checkedUint(a.value - b.value) : NO_SUCH_OVERLOAD
  if (a instanceof Duration) return b instanceof Duration ? checkedDuration(a.nanos - b.nanos) : NO_SUCH_OVERLOAD
  if (!(a instanceof Timestamp)) return NO_SUCH_OVERLOAD
  if (b instanceof Timestamp) return checkedDuration(a.nanos - b.nanos)
  return b instanceof Duration ? checkedTimestamp(a.nanos - b.nanos) : NO_SUCH_OVERLOAD
}

export function multiply(a: Value, b: Value): Value {
  if (isInt(a)) {
    if (!isInt(b)) return NO_SUCH_OVERLOAD
    const product = typeof a === "number" && typeof b === "number" ? a * b : NaN
    // Adding 0 turns -0, which 0 times a negative number gives in JavaScript, into 0.
    return Number.isSafeInteger(product) ? product + 0 : checkedInt(BigInt(a) * BigInt(b))
  }
  if (a instanceof Double) return b instanceof Double ? new Double(a.value * b.value) : NO_SUCH_OVERLOAD
  if (a instanceof Uint) return b instanceof Uint ? checkedUint(a.value * b.value) : NO_SUCH_OVERLOAD
  return NO_SUCH_OVERLOAD
}

export function divide(a: Value, b: Value): Value {
  if (isInt(a)) {
    if (!isInt(b)) return NO_SUCH_OVERLOAD
    return b === 0 ? DIVISION_BY_ZERO : checkedInt(BigInt(a) / BigInt(b))
  }
  if (a instanceof Double) return b instanceof Double ? new Double(a.value / b.value) : NO_SUCH_OVERLOAD
  if (!(a instanceof Uint) || !(b instanceof Uint)) return NO_SUCH_OVERLOAD
  return b.value === 0n ? DIVISION_BY_ZERO : new Uint(a.value / b.value)
}

export function modulo(a: Value, b: Value): Value {
  if (isInt(a)) {
    if (!isInt(b)) return NO_SUCH_OVERLOAD
    if (b === 0) return MODULUS_BY_ZERO
    return b === -1 && BigInt(a) === SMALLEST_INT ? INT_OVERFLOW : intOf(BigInt(a) % BigInt(b))
  }
  if (!(a instanceof Uint) || !(b instanceof Uint)) return NO_SUCH_OVERLOAD
  return b.value === 0n ? MODULUS_BY_ZERO : new Uint(a.value % b.value)
}

export function negate(value: Value): Value {
  if (isInt(value)) return checkedInt(-BigInt(value))
  return value instanceof Double ? new Double(-value.value) : NO_SUCH_OVERLOAD
}
