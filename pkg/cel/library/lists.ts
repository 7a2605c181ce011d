import { add } from "../values/arithmetic.ts"
import { compare, equal, NO_SUCH_OVERLOAD } from "../values/compare.ts"
import { affordable, boundedList } from "../limits.ts"
import { expandMap, MacroError, type Macro } from "../syntax/macros.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  paramOf,
  STRING,
  TIMESTAMP,
  UINT,
  type CelType,
} from "../type.ts"
import { typeOfValue } from "../values/convert.ts"
import { identity } from "../values/maps.ts"
import { ArrayList, CelError, Double, Duration, ListValue, Uint, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"

/**
 * Functions of lists: those of Kubernetes and those of cel-go. Source: apiserver pkg/cel/library/lists.go, cel-go
 * ext/lists.go.
 */

const A = paramOf("A")
const T = paramOf("T")

const SUMMABLE: readonly (readonly [string, CelType, Value])[] = [
  ["int", INT, 0],
  ["uint", UINT, new Uint(0n)],
  ["double", DOUBLE, new Double(0)],
  ["duration", DURATION, new Duration(0n)],
]
const COMPARABLE: readonly (readonly [string, CelType])[] = [
  ["int", INT],
  ["uint", UINT],
  ["double", DOUBLE],
  ["bool", BOOL],
  ["duration", DURATION],
  ["timestamp", TIMESTAMP],
  ["string", STRING],
  ["bytes", BYTES],
]

function isSorted(list: ListValue): Value {
  for (let i = 1; i < list.size; i++) {
    const order = compare(list.at(i - 1), list.at(i))
    if (order instanceof CelError) return order
    if (order > 0) return false
  }
  return true
}

const sum =
  (zero: Value) =>
  (list: ListValue): Value => {
    let total = zero
    for (const item of list) {
      total = add(total, item)
      if (total instanceof CelError) return total
    }
    return total
  }

/** Returns the least item for `sign` -1, the greatest for 1; the first of equal ones. */
const extreme =
  (name: string, sign: number) =>
  (list: ListValue): Value => {
    if (list.size === 0) return new CelError(`${name} called on empty list`)
    let best = list.at(0)
    for (const item of list) {
      const order = compare(item, best)
      if (order instanceof CelError) return order
      if (order === sign) best = item
    }
    return best
  }

function indexOf(list: ListValue, wanted: Value): Value {
  for (let i = 0; i < list.size; i++) if (equal(list.at(i), wanted)) return i
  return -1
}

function lastIndexOf(list: ListValue, wanted: Value): Value {
  for (let i = list.size - 1; i >= 0; i--) if (equal(list.at(i), wanted)) return i
  return -1
}

/** Kubernetes' own functions of lists. */
const KUBERNETES_LISTS: readonly FunctionDeclaration[] = [
  declare(
    "isSorted",
    COMPARABLE.map(([name, type]) => member(`list_${name}_is_sorted_bool`, [listOf(type)], BOOL, isSorted)),
  ),
  declare(
    "sum",
    SUMMABLE.map(([name, type, zero]) => member(`list_${name}_sum_${name}`, [listOf(type)], type, sum(zero))),
  ),
  declare(
    "max",
    COMPARABLE.map(([name, type]) => member(`list_${name}_max_${name}`, [listOf(type)], type, extreme("max", 1))),
  ),
  declare(
    "min",
    COMPARABLE.map(([name, type]) => member(`list_${name}_min_${name}`, [listOf(type)], type, extreme("min", -1))),
  ),
  declare("indexOf", [member("list_a_index_of_int", [listOf(A), A], INT, indexOf)]),
  declare("lastIndexOf", [member("list_a_last_index_of_int", [listOf(A), A], INT, lastIndexOf)]),
]

/**
 * The list 0, 1, 2 and so on without storage: an expression may ask for billions of items, and is aborted by their
 * cost.
 */
class Range extends ListValue {
  readonly size: number
  constructor(size: number) {
    super()
    this.size = size
  }
  at(index: number): Value {
    return index
  }
}

function slice(list: ListValue, start: number | bigint, end: number | bigint): Value {
  const range = `cannot slice(${start}, ${end})`
  if (start < 0 || end < 0) return new CelError(`${range}, negative indexes not supported`)
  if (start > end) return new CelError(`${range}, start index must be less than or equal to end index`)
  if (list.size < end) return new CelError(`${range}, list is length ${list.size}`)
  return new ArrayList(Array.from({ length: Number(end) - Number(start) }, (_, i) => list.at(Number(start) + i)))
}

function flatten(list: ListValue, depth: number | bigint = 1): Value {
  if (depth < 0) return new CelError("level must be non-negative")
  const items: Value[] = []
  flattenInto(items, list, Number(depth))
  return new ArrayList(items)
}

function flattenInto(items: Value[], list: ListValue, depth: number): void {
  for (const item of list) {
    if (item instanceof ListValue && depth > 0) flattenInto(items, item, depth - 1)
    else items.push(item)
    boundedList(items.length)
  }
}

function sortBy(list: ListValue, keys: ListValue): Value {
  if (list.size !== keys.size)
    return new CelError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${list.size} and ${keys.size} elements respectively`,
    )
  if (list.size === 0) return list
  affordable(2 * keys.size * keys.size)
  const pairs = Array.from({ length: list.size }, (_, i) => ({ key: keys.at(i), item: list.at(i) }))
  const { name } = typeOfValue(pairs[0]!.key)
  if (compare(pairs[0]!.key, pairs[0]!.key) === NO_SUCH_OVERLOAD)
    return new CelError("list elements must be comparable")
  if (pairs.some(({ key }) => typeOfValue(key).name !== name))
    return new CelError("list elements must have the same type")
  pairs.sort((a, b) => {
    const order = compare(a.key, b.key)
    return order instanceof CelError ? 0 : order
  })
  return new ArrayList(pairs.map(({ item }) => item))
}

function distinct(list: ListValue): Value {
  affordable(2 * list.size * list.size)
  const seen = new Set<unknown>()
  const others: Value[] = []
  const items: Value[] = []
  for (const item of list) {
    const id = identity(item)
    const known = id === undefined ? others.some((other) => equal(item, other)) : seen.has(id)
    if (known) continue
    if (id === undefined) others.push(item)
    else seen.add(id)
    items.push(item)
  }
  return new ArrayList(items)
}

const EXTENSION: readonly FunctionDeclaration[] = [
  declare("slice", [member("list_slice", [listOf(T), INT, INT], listOf(T), slice)]),
  declare("flatten", [
    member("list_flatten", [listOf(listOf(T))], listOf(T), flatten),
    member("list_flatten_int", [listOf(DYN), INT], listOf(DYN), flatten),
  ]),
  declare(
    "sort",
    COMPARABLE.map(([, type]) => member(`list_${type.name}_sort`, [listOf(type)], listOf(type))),
    (list: ListValue) => sortBy(list, list),
  ),
  declare(
    "@sortByAssociatedKeys",
    COMPARABLE.map(([, type]) =>
      member(`list_${type.name}_sortByAssociatedKeys`, [listOf(T), listOf(type)], listOf(T)),
    ),
    sortBy,
  ),
  declare("lists.range", [
    overload("lists_range", [INT], listOf(INT), (count: number | bigint) => new Range(Math.max(0, Number(count)))),
  ]),
  declare("reverse", [
    member("list_reverse", [listOf(T)], listOf(T), (list: ListValue) => new ArrayList([...list].toReversed())),
  ]),
  declare("distinct", [member("list_distinct", [listOf(T)], listOf(T), distinct)]),
]

export const LISTS: readonly FunctionDeclaration[] = [...KUBERNETES_LISTS, ...EXTENSION]

const SORT_INPUT = "@__sortBy_input__"

/** `list.sortBy(v, key)`. */
export const LIST_MACROS: readonly Macro[] = [
  {
    name: "sortBy",
    member: true,
    args: 2,
    expand({ target, args }, make) {
      if (!["list", "select", "ident", "comprehension", "call"].includes(target!.kind))
        throw new MacroError(
          target!.offset,
          "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        )
      const input = make.ident(SORT_INPUT)
      const keys = expandMap(make.copy(input), args, make)
      return make.bind(SORT_INPUT, target!, make.memberCall("@sortByAssociatedKeys", input, keys))
    },
  },
]
