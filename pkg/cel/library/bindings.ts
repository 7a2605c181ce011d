import { MacroError, type Macro } from "../syntax/macros.ts"

/** `cel.bind(name, value, expression)`: evaluates the expression with a variable. Source: cel-go ext/bindings.go. */
export const BINDING_MACROS: readonly Macro[] = [
  {
    name: "bind",
    member: true,
    args: 3,
    expand({ target, args: [variable, value, expression] }, make) {
      if (target?.kind !== "ident" || target.name !== "cel") return undefined
      if (variable!.kind !== "ident")
        throw new MacroError(variable!.offset, "cel.bind() variable names must be simple identifiers")
      return make.bind(variable!.name, value!, expression!)
    },
  },
]
