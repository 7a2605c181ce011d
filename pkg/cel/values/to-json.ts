import { exactInteger } from "../../apimachinery/json/exact-number.ts"
import { CostExceeded, Walk } from "../limits.ts"
import { formatTimestamp } from "./time.ts"
import { toText } from "./convert.ts"
import {
  CelError,
  Double,
  Duration,
  isInt,
  ListValue,
  MapValue,
  Optional,
  StructValue,
  Timestamp,
  Uint,
} from "./values.ts"
import type { Value } from "./values.ts"

/**
 * Returns a value as JSON: integers beyond 2^53 as ExactNumber, bytes in base64, times as strings; fields keep the
 * names that expressions use. Returns a CelError for values that JSON cannot represent.
 */
export function jsonOf(value: Value): unknown {
  try {
    return toJson(value, new Walk())
  } catch (err) {
    if (err instanceof CostExceeded) return new CelError("the value is too large for JSON")
    throw err
  }
}

function toJson(value: Value, walk: Walk): unknown {
  walk.step()
  if (value === null || typeof value === "boolean" || typeof value === "string") return value
  if (isInt(value)) return exactInteger(BigInt(value))
  if (value instanceof Uint) return exactInteger(value.value)
  if (value instanceof Double)
    return Number.isFinite(value.value) ? value.value : new CelError("JSON has no infinite numbers")
  if (value instanceof Timestamp) return formatTimestamp(value.nanos)
  if (value instanceof Duration) return toText(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value, walk)
  if (value instanceof ListValue) return firstFault(Array.from(value, (item) => toJson(item, walk)))
  if (value instanceof StructValue)
    return objectOf(
      value
        .fieldNames()
        .filter((name) => value.has(name) === true)
        .map((name) => [name, toJson(value.get(name), walk)] as const),
    )
  if (value instanceof MapValue) {
    return objectOf(Array.from(value.keys(), (key) => [String(toText(key)), toJson(value.find(key)!, walk)] as const))
  }
  return value instanceof CelError ? value : new CelError("the value cannot be written as JSON")
}

const firstFault = (items: readonly unknown[]): unknown => items.find((item) => item instanceof CelError) ?? items

function objectOf(entries: readonly (readonly [string, unknown])[]): unknown {
  return entries.find(([, value]) => value instanceof CelError)?.[1] ?? Object.fromEntries(entries)
}
