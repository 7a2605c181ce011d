import { MacroError, type Macro } from "../syntax/macros.ts"
import {
  Duration,
  Double,
  isInt,
  ListValue,
  MapValue,
  Optional,
  StructValue,
  Uint,
  type Value,
} from "../values/values.ts"
import { BOOL, DYN, INT, listOf, mapOf, optionalOf, paramOf, STRING } from "../type.ts"
import { ArrayList, CelError } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"

/** Optional values. Source: cel-go cel/library.go, optionalLib. */

const K = paramOf("K")
const V = paramOf("V")
const OPTIONAL = optionalOf(V)

/** `x.optMap(v, f)`: evaluates f with v set to the value of x, if x has one. */
const mapMacro = (name: string, wrap: boolean): Macro => ({
  name,
  member: true,
  args: 2,
  expand({ target, args }, make) {
    const variable = args[0]!
    if (variable.kind !== "ident")
      throw new MacroError(variable.offset, `${name}() variable name must be a simple identifier`)
    const bound = make.bind(variable.name, make.memberCall("value", make.copy(target!)), args[1]!)
    return make.call(
      "_?_:_",
      make.memberCall("hasValue", target!),
      wrap ? make.call("optional.of", bound) : bound,
      make.call("optional.none"),
    )
  },
})

export const OPTIONAL_MACROS: readonly Macro[] = [mapMacro("optMap", true), mapMacro("optFlatMap", false)]

function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0) return true
  if (isInt(value) || typeof value === "boolean" || typeof value === "string") return false
  if (value instanceof Uint || value instanceof Double) return Number(value.value) === 0
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof ListValue || value instanceof MapValue || value instanceof StructValue) return value.size === 0
  if (value instanceof Optional) return value.value === undefined
  return value instanceof Uint8Array && value.length === 0
}

function unwrap(list: ListValue): Value {
  const items: Value[] = []
  for (const item of list) {
    if (!(item instanceof Optional)) return new CelError("value is not optional")
    if (item.value !== undefined) items.push(item.value)
  }
  return new ArrayList(items)
}

const itemAt = (list: ListValue, index: number): Value =>
  list.size === 0 ? Optional.NONE : new Optional(list.at(index))

export const OPTIONALS: readonly FunctionDeclaration[] = [
  declare("optional.of", [overload("optional_of", [V], OPTIONAL, (value: Value) => new Optional(value))]),
  declare("optional.ofNonZeroValue", [
    overload("optional_ofNonZeroValue", [V], OPTIONAL, (value: Value) =>
      isZero(value) ? Optional.NONE : new Optional(value),
    ),
  ]),
  declare("optional.none", [overload("optional_none", [], OPTIONAL, () => Optional.NONE)]),
  declare("value", [member("optional_value", [OPTIONAL], V, ({ value }: Optional) => value ?? optionalFault(value))]),
  declare("hasValue", [member("optional_hasValue", [OPTIONAL], BOOL, ({ value }: Optional) => value !== undefined)]),
  declare("or", [member("optional_or_optional", [OPTIONAL, OPTIONAL], OPTIONAL)]),
  declare("orValue", [member("optional_orValue_value", [OPTIONAL, V], V)]),
  declare("_?._", [overload("select_optional_field", [DYN, STRING], OPTIONAL)]),
  declare("_[?_]", [
    overload("list_optindex_optional_int", [listOf(V), INT], OPTIONAL),
    overload("optional_list_optindex_optional_int", [optionalOf(listOf(V)), INT], OPTIONAL),
    overload("map_optindex_optional_value", [mapOf(K, V), K], OPTIONAL),
    overload("optional_map_optindex_optional_value", [optionalOf(mapOf(K, V)), K], OPTIONAL),
  ]),
  declare("_[_]", [
    overload("optional_list_index_int", [optionalOf(listOf(V)), INT], OPTIONAL),
    overload("optional_map_index_value", [optionalOf(mapOf(K, V)), K], OPTIONAL),
  ]),
  declare("last", [member("list_last", [listOf(V)], OPTIONAL, (list: ListValue) => itemAt(list, list.size - 1))]),
  declare("first", [member("list_first", [listOf(V)], OPTIONAL, (list: ListValue) => itemAt(list, 0))]),
  declare("optional.unwrap", [overload("optional_unwrap", [listOf(OPTIONAL)], listOf(V), unwrap)]),
  declare("unwrapOpt", [member("optional_unwrapOpt", [listOf(OPTIONAL)], listOf(V), unwrap)]),
]

const optionalFault = (value: null | undefined): Value =>
  value === null ? null : new CelError("optional.none() dereference")
