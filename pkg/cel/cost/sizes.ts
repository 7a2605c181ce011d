import { codePoints, ListValue, MapValue, OpaqueValue, Optional, StructValue, type Value } from "../values/values.ts"

/** Cost of one pass over a string, per character. Source: cel-go common/cost.go. */
export const TEXT = 0.1
/** Cost of a pattern, per character. Source: cel-go common/cost.go. */
export const PATTERN = 0.25
/** Cost of creating a list. Source: cel-go common/cost.go. */
export const NEW_LIST = 10
export const NEW_MAP = 30
export const NEW_STRUCT = 40

/** The cost of a call: constant, or computed from its arguments and result. */
export type CallCost = number | ((args: readonly Value[], result: Value) => number)

/**
 * Returns the cost of matching a pattern; matching an empty string costs something too. Source: cel-go
 * interpreter/runtimecost.go.
 */
export const matchingCost = (text: Value, patternSize: number): number =>
  Math.ceil((1 + sizeForCost(text)) * TEXT) * Math.ceil(patternSize * PATTERN)

/**
 * Returns the size of a value for costs: 1 for values without a size. Source: cel-go interpreter/runtimecost.go
 * actualSize.
 */
export function sizeForCost(value: Value): number {
  if (typeof value === "string") return codePoints(value)
  if (typeof value !== "object" || value === null) return 1
  if (value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue || value instanceof StructValue) return value.size
  if (value instanceof OpaqueValue) return value.costSize ?? 1
  return value instanceof Optional && value.value !== undefined ? sizeForCost(value.value) : 1
}
