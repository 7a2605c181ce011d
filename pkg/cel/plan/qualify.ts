import { show, typeOfValue } from "../values/convert.ts"
import { NO_SUCH_OVERLOAD } from "../values/compare.ts"
import { JsonMap } from "../values/json-values.ts"
import {
  CelError,
  Double,
  intOf,
  isInt,
  LARGEST_INT,
  ListValue,
  MapValue,
  Optional,
  StructValue,
  Uint,
} from "../values/values.ts"
import type { Value } from "../values/values.ts"

/** Reads fields, entries and items. Source: cel-go interpreter/attributes.go refQualify. */

/** Returns the element of `object` at `key`; an error when there is none. */
export function qualify(object: Value, key: Value): Value {
  if (object instanceof CelError) return object
  const found = find(object, key)
  if (found !== undefined) return found
  return new CelError(`${object instanceof ListValue ? "index out of bounds" : "no such key"}: ${show(key)}`)
}

/** Returns the element of `object` at `key`; undefined when there is none. */
export function find(object: Value, key: Value): Value | undefined {
  if (object instanceof StructValue) {
    const has = typeof key === "string" ? object.has(key) : NO_SUCH_OVERLOAD
    if (has instanceof CelError) return has
    return has ? object.get(key as string) : undefined
  }
  if (object instanceof MapValue)
    return object instanceof JsonMap && typeof key !== "string" ? NO_SUCH_OVERLOAD : object.find(key)
  if (!(object instanceof ListValue)) return object instanceof CelError ? object : undefined
  const index = indexOf(key)
  if (index instanceof CelError) return index
  return index >= 0 && index < object.size ? object.at(index) : undefined
}

function indexOf(key: Value): number | CelError {
  if (typeof key === "number") return key
  if (isInt(key)) return -1
  if (key instanceof Double && Number.isInteger(key.value)) return key.value
  if (key instanceof Uint && key.value <= LARGEST_INT) return Number(intOf(key.value))
  if (key instanceof Double || key instanceof Uint) return new CelError(`unsupported index value ${show(key)} in list`)
  return new CelError(`unsupported index type '${typeOfValue(key).name}' in list`)
}

/** Whether `object` has a value in a field, for `has(object.field)`. */
export function isPresent(object: Value, field: string): Value {
  const inner = object instanceof Optional ? object.value : object
  if (inner === undefined) return false
  if (inner instanceof CelError) return inner
  if (inner instanceof StructValue) return inner.has(field)
  const found = find(inner, field)
  return found instanceof CelError && !(inner instanceof MapValue) ? found : found !== undefined
}
