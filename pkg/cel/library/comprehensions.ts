import { show } from "../values/convert.ts"
import type { HashMap } from "../values/maps.ts"
import type { Expr } from "../syntax/ast.ts"
import { MacroError, quantifier, variableName, type Macro, type Maker } from "../syntax/macros.ts"
import { mapOf, paramOf } from "../type.ts"
import { CelError, type MapValue, type Value } from "../values/values.ts"
import { declare, overload, type FunctionDeclaration } from "./declare.ts"

/** Macros with two variables: index and item, or key and value. Source: cel-go ext/comprehensions.go. */

const K = paramOf("K")
const V = paramOf("V")
const MAP = mapOf(K, V)
const INSERT = "cel.@mapInsert"

function variables(args: readonly Expr[]): { variable: string; variable2: string } {
  const [first, second] = args as [Expr, Expr]
  const variable = variableName(first, "argument must be a simple name")
  const variable2 = variableName(second, "argument must be a simple name")
  if (variable === variable2) throw new MacroError(second.offset, `duplicate variable name: ${variable}`)
  return { variable, variable2 }
}

const quantifierMacro = (name: string, kind: "all" | "exists" | "exists_one"): Macro => ({
  name,
  member: true,
  args: 3,
  expand: ({ target, args }, make) =>
    make.loop({ range: target!, ...variables(args), ...quantifier(kind, args[2]!, make) }),
})

/** Declares a macro that builds a list or a map, with or without a filter before its last argument. */
const transformation = (
  name: string,
  init: (make: Maker) => Expr,
  step: (make: Maker, transformed: Expr, variable: string) => Expr,
): readonly Macro[] =>
  [3, 4].map((count) => ({
    name,
    member: true,
    args: count,
    expand({ target, args }, make) {
      const names = variables(args)
      const more = step(make, args.at(-1)!, names.variable)
      return make.loop({
        range: target!,
        ...names,
        init: init(make),
        condition: make.literal(true),
        step: count === 4 ? make.call("_?_:_", args[2]!, more, make.accumulator()) : more,
      })
    },
  }))

export const COMPREHENSION_MACROS: readonly Macro[] = [
  quantifierMacro("all", "all"),
  quantifierMacro("exists", "exists"),
  quantifierMacro("exists_one", "exists_one"),
  quantifierMacro("existsOne", "exists_one"),
  ...transformation(
    "transformList",
    (make) => make.list(),
    (make, item) => make.call("_+_", make.accumulator(), make.list(item)),
  ),
  ...transformation(
    "transformMap",
    (make) => make.map(),
    (make, value, variable) => make.call(INSERT, make.accumulator(), make.ident(variable), value),
  ),
  ...transformation(
    "transformMapEntry",
    (make) => make.map(),
    (make, entry) => make.call(INSERT, make.accumulator(), entry),
  ),
]

/** Adds an entry to the accumulator of a macro in place, which is safe since no other value refers to it. */
function insert(map: HashMap, key: Value, value: Value): Value {
  if (map.find(key) !== undefined) return new CelError(`insert failed: key ${show(key)} already exists`)
  return map.set(key, value) ? map : new CelError(`insert failed: key ${show(key)} can be no key`)
}

function insertAll(map: HashMap, entries: MapValue): Value {
  for (const key of entries.keys()) {
    const result = insert(map, key, entries.find(key)!)
    if (result instanceof CelError) return result
  }
  return map
}

export const COMPREHENSIONS: readonly FunctionDeclaration[] = [
  declare(INSERT, [
    overload("@mapInsert_map_key_value", [MAP, K, V], MAP, insert),
    overload("@mapInsert_map_map", [MAP, MAP], MAP, insertAll),
  ]),
]
