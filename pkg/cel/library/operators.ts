import { add, divide, modulo, multiply, negate, subtract } from "../values/arithmetic.ts"
import { compare, equal, NO_SUCH_OVERLOAD } from "../values/compare.ts"
import { identity } from "../values/maps.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  listOf,
  mapOf,
  paramOf,
  STRING,
  TIMESTAMP,
  UINT,
  type CelType,
} from "../type.ts"
import { CelError, ListValue, MapValue, StructValue, type Value } from "../values/values.ts"
import { declare, overload, type FunctionDeclaration, type Implementation } from "./declare.ts"

/**
 * The operators of the language. Source: cel-go common/stdlib/standard.go; names of overloads from common/overloads.
 */

const A = paramOf("A")
const B = paramOf("B")

/** Numbers of different types have overloads of their own, such as `less_int64_double`. */
const NUMBERS: readonly (readonly [string, CelType])[] = [
  ["int64", INT],
  ["uint64", UINT],
  ["double", DOUBLE],
]
const OTHERS: readonly (readonly [string, CelType])[] = [
  ["string", STRING],
  ["bytes", BYTES],
  ["timestamp", TIMESTAMP],
  ["duration", DURATION],
]

function relation(name: string, id: string, holds: (order: number) => boolean): FunctionDeclaration {
  const numbers = NUMBERS.flatMap(([left, a]) =>
    NUMBERS.map(([right, b]) => overload(left === right ? `${id}_${left}` : `${id}_${left}_${right}`, [a, b], BOOL)),
  )
  const others = OTHERS.map(([word, type]) => overload(`${id}_${word}`, [type, type], BOOL))
  return declare(name, [overload(`${id}_bool`, [BOOL, BOOL], BOOL), ...numbers, ...others], (a: Value, b: Value) => {
    const order = compare(a, b)
    return order instanceof CelError ? order : holds(order)
  })
}

const arithmetic = (
  name: string,
  id: string,
  types: readonly (readonly [string, CelType, CelType, CelType])[],
  implementation: Implementation,
): FunctionDeclaration =>
  declare(
    name,
    types.map(([word, left, right, result]) => overload(`${id}_${word}`, [left, right], result)),
    implementation,
  )

const same = (word: string, type: CelType) => [word, type, type, type] as const
const INTEGERS = [same("int64", INT), same("uint64", UINT)]
const FLOATS = [same("double", DOUBLE)]

function contains(item: Value, container: Value): Value {
  if (container instanceof ListValue) {
    for (const each of container) if (equal(item, each)) return true
    return false
  }
  if (container instanceof MapValue) return identity(item) !== undefined && container.has(item)
  if (container instanceof StructValue) return typeof item === "string" ? container.has(item) : NO_SUCH_OVERLOAD
  return NO_SUCH_OVERLOAD
}

const not = (value: Value): Value => (typeof value === "boolean" ? !value : NO_SUCH_OVERLOAD)

export const OPERATORS: readonly FunctionDeclaration[] = [
  declare("_?_:_", [overload("conditional", [BOOL, A, A], A)]),
  declare("_&&_", [overload("logical_and", [BOOL, BOOL], BOOL)]),
  declare("_||_", [overload("logical_or", [BOOL, BOOL], BOOL)]),
  declare("!_", [overload("logical_not", [BOOL], BOOL)], not),
  declare("@not_strictly_false", [overload("not_strictly_false", [BOOL], BOOL)], (value: Value) =>
    typeof value === "boolean" ? value : true,
  ),
  declare("_==_", [overload("equals", [A, A], BOOL)]),
  declare("_!=_", [overload("not_equals", [A, A], BOOL)]),
  arithmetic(
    "_+_",
    "add",
    [
      same("bytes", BYTES),
      ...FLOATS,
      same("duration_duration", DURATION),
      ["duration_timestamp", DURATION, TIMESTAMP, TIMESTAMP],
      ["timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP],
      INTEGERS[0]!,
      same("list", listOf(A)),
      same("string", STRING),
      INTEGERS[1]!,
    ],
    add,
  ),
  arithmetic("_/_", "divide", [...FLOATS, ...INTEGERS], divide),
  arithmetic("_%_", "modulo", INTEGERS, modulo),
  arithmetic("_*_", "multiply", [...FLOATS, ...INTEGERS], multiply),
  declare("-_", [overload("negate_double", [DOUBLE], DOUBLE), overload("negate_int64", [INT], INT)], negate),
  arithmetic(
    "_-_",
    "subtract",
    [
      ...FLOATS,
      same("duration_duration", DURATION),
      INTEGERS[0]!,
      ["timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP],
      ["timestamp_timestamp", TIMESTAMP, TIMESTAMP, DURATION],
      INTEGERS[1]!,
    ],
    subtract,
  ),
  relation("_<_", "less", (order) => order < 0),
  relation("_<=_", "less_equals", (order) => order <= 0),
  relation("_>_", "greater", (order) => order > 0),
  relation("_>=_", "greater_equals", (order) => order >= 0),
  declare("_[_]", [overload("index_list", [listOf(A), INT], A), overload("index_map", [mapOf(A, B), A], B)]),
  declare("@in", [overload("in_list", [A, listOf(A)], BOOL), overload("in_map", [A, mapOf(A, B)], BOOL)], contains),
]
