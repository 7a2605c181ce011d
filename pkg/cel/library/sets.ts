import { equal } from "../values/compare.ts"
import { affordable } from "../limits.ts"
import { identity } from "../values/maps.ts"
import { BOOL, listOf, paramOf } from "../type.ts"
import type { ListValue, Value } from "../values/values.ts"
import { declare, overload, type FunctionDeclaration } from "./declare.ts"

/** Lists as sets. Source: cel-go ext/sets.go. */

const T = listOf(paramOf("T"))

/** Returns a function that says whether a list contains a value; primitive items are looked up in a set. */
function membership(list: ListValue): (value: Value) => boolean {
  const primitives = new Set<unknown>()
  const others: Value[] = []
  for (const item of list) {
    const id = identity(item)
    if (id === undefined) others.push(item)
    else primitives.add(id)
  }
  return (value) => {
    const id = identity(value)
    return id === undefined ? others.some((other) => equal(value, other)) : primitives.has(id)
  }
}

function contains(list: ListValue, sublist: ListValue): boolean {
  affordable(list.size * sublist.size)
  const has = membership(list)
  for (const item of sublist) if (!has(item)) return false
  return true
}

function intersects(a: ListValue, b: ListValue): boolean {
  affordable(a.size * b.size)
  const has = membership(b)
  for (const item of a) if (has(item)) return true
  return false
}

export const SETS: readonly FunctionDeclaration[] = [
  declare("sets.contains", [overload("list_sets_contains_list", [T, T], BOOL, contains)]),
  declare("sets.equivalent", [
    overload(
      "list_sets_equivalent_list",
      [T, T],
      BOOL,
      (a: ListValue, b: ListValue) => contains(a, b) && contains(b, a),
    ),
  ]),
  declare("sets.intersects", [overload("list_sets_intersects_list", [T, T], BOOL, intersects)]),
]
