import { typeOfValue } from "../values/convert.ts"
import type { FunctionDeclaration, Implementation, Overload } from "../library/declare.ts"
import type { CelType } from "../type.ts"
import { CelError, ListValue, MapValue, type Value } from "../values/values.ts"

/**
 * Returns a function that picks at run time the overload which fits the arguments, among those that the checker left.
 * Source: cel-go common/decls/decls.go.
 */
export function dispatcher({ name }: FunctionDeclaration, overloads: readonly Overload[]): Implementation {
  return (...args: Value[]) => {
    for (const { args: types, implementation } of overloads) {
      if (types.length !== args.length || implementation === undefined) continue
      if (types.every((type, i) => fits(args[i]!, type))) return implementation(...args)
    }
    const shown = args.map((arg) => typeOfValue(arg).name)
    return new CelError(`no such overload: ${name}(${shown.join(", ")})`)
  }
}

/** Whether a value has a type. Of a list or map only the first element is examined. */
function fits(value: Value, type: CelType): boolean {
  if (type.kind === "dyn" || type.kind === "param") return true
  if (typeOfValue(value).name !== type.name) return false
  if (value instanceof ListValue) return value.size === 0 || fits(value.at(0), type.params[0]!)
  if (!(value instanceof MapValue)) return true
  for (const key of value.keys()) return fits(key, type.params[0]!) && fits(value.find(key)!, type.params[1]!)
  return true
}
