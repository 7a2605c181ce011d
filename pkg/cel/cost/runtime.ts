import { CelError, codePoints, ListValue, MapValue, OpaqueValue, Optional, StructValue, type Value } from "../values.ts"
import { KUBERNETES_COSTS } from "./runtime-kubernetes.ts"

/** What a call costs: always the same, or by its arguments and result. */
export type CallCost = number | ((args: readonly Value[], result: Value) => number)

/** Cost of one pass over a text, by character. Source: cel-go common/cost.go. */
export const TEXT = 0.1
/** Cost of a pattern, by character. Source: cel-go common/cost.go. */
export const PATTERN = 0.25

/** The size that counts for costs: 1 for what has none. Source: cel-go interpreter/runtimecost.go actualSize. */
export function sizeForCost(value: Value): number {
  if (typeof value === "string") return codePoints(value)
  if (typeof value !== "object" || value === null) return 1
  if (value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue || value instanceof StructValue) return value.size
  if (value instanceof OpaqueValue) return value.costSize ?? 1
  if (value instanceof Optional && value.value !== undefined) return sizeForCost(value.value)
  return value instanceof CelError ? 1 : 1
}

const first: CallCost = ([text]) => Math.ceil(sizeForCost(text!) * TEXT)
const shorter: CallCost = ([a, b]) => Math.ceil(Math.min(sizeForCost(a!), sizeForCost(b!)) * TEXT)
const both: CallCost = ([a, b]) => Math.ceil((sizeForCost(a!) + sizeForCost(b!)) * TEXT)

/** Of overloads, by cel-go's names; all others cost 1. Source: cel-go interpreter/runtimecost.go costCall. */
const COSTS: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ...[
    "starts_with_string",
    "ends_with_string",
    "string_to_bytes",
    "bytes_to_string",
    "strings_quote",
    "string_format",
  ].map((id) => [id, first] as const),
  ["in_list", ([, list]) => sizeForCost(list!)],
  ...["less", "greater", "less_equals", "greater_equals"].flatMap((name) => [
    [`${name}_string`, shorter] as const,
    [`${name}_bytes`, shorter] as const,
  ]),
  ["add_string", both],
  ["add_bytes", both],
  [
    "matches_string",
    ([text, pattern]) => Math.ceil((1 + sizeForCost(text!)) * TEXT) * Math.ceil(sizeForCost(pattern!) * PATTERN),
  ],
  ["contains_string", ([text, part]) => Math.ceil(sizeForCost(text!) * TEXT) * Math.ceil(sizeForCost(part!) * TEXT)],
])

/** What calls of a function cost; `overload` is empty where it is known only at run time. */
export function callCost(name: string, overload: string): CallCost {
  return KUBERNETES_COSTS(name, overload) ?? COSTS.get(overload) ?? 1
}
