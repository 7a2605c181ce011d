import { codePoints, ListValue, MapValue, OpaqueValue, Optional, StructValue, type Value } from "../values.ts"

/** Cost of one pass over a text, by character. Source: cel-go common/cost.go. */
export const TEXT = 0.1
/** Cost of a pattern, by character. Source: cel-go common/cost.go. */
export const PATTERN = 0.25
/** Cost of making a list. Source: cel-go common/cost.go. */
export const NEW_LIST = 10
export const NEW_MAP = 30
export const NEW_STRUCT = 40

/** What a call costs: always the same, or by its arguments and result. */
export type CallCost = number | ((args: readonly Value[], result: Value) => number)

/** What a pattern costs against a text; an empty text still costs. Source: cel-go interpreter/runtimecost.go. */
export const matchingCost = (text: Value, patternSize: number): number =>
  Math.ceil((1 + sizeForCost(text)) * TEXT) * Math.ceil(patternSize * PATTERN)

/** The size that counts for costs: 1 for what has none. Source: cel-go interpreter/runtimecost.go actualSize. */
export function sizeForCost(value: Value): number {
  if (typeof value === "string") return codePoints(value)
  if (typeof value !== "object" || value === null) return 1
  if (value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue || value instanceof StructValue) return value.size
  if (value instanceof OpaqueValue) return value.costSize ?? 1
  return value instanceof Optional && value.value !== undefined ? sizeForCost(value.value) : 1
}
