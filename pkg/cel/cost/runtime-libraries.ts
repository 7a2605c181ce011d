import { ListValue, type Value } from "../values/values.ts"
import { NEW_LIST, sizeForCost, TEXT, type CallCost } from "./sizes.ts"

/** Costs of cel-go's libraries of lists and sets. Source: cel-go ext/{lists,sets}.go. */

const newList = (factor: number, size: number): number => Math.trunc(size * factor) + 1 + NEW_LIST

function compared(list: Value): number {
  const size = sizeForCost(list)
  if (!(list instanceof ListValue) || size === 0) return newList(2, 0)
  const first = list.at(0)
  return newList(typeof first === "string" || first instanceof Uint8Array ? 2 + TEXT : 2, size * size)
}

const sets =
  (factor: number): CallCost =>
  ([a, b]) =>
    1 + sizeForCost(a!) * sizeForCost(b!) * factor

const output: CallCost = (_args, result) => newList(1, sizeForCost(result))
const flattened: CallCost = ([list, depth]) =>
  newList(depth === undefined ? 1 : Number(depth as number), sizeForCost(list!))

const COMPARABLE = "int uint double bool google.protobuf.Duration google.protobuf.Timestamp string bytes".split(" ")

/** By the name of the overload. */
export const LIBRARY_COSTS: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ["list_slice", output],
  ["list_flatten", flattened],
  ["list_flatten_int", flattened],
  ["lists_range", output],
  ["list_reverse", output],
  ["list_distinct", ([list]) => compared(list!)],
  ...COMPARABLE.flatMap((name): readonly (readonly [string, CallCost])[] => [
    [`list_${name}_sort`, ([list]) => compared(list!)],
    [`list_${name}_sortByAssociatedKeys`, ([, keys]) => compared(keys!)],
  ]),
  ["list_sets_contains_list", sets(1)],
  ["list_sets_intersects_list", sets(1)],
  ["list_sets_equivalent_list", sets(2)],
])
