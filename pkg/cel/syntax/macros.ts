import { ACCUMULATOR, type Expr, type MapExpr } from "./ast.ts"
import type { Value } from "../values/values.ts"

/** A call as it was written, which may be a macro. */
export interface Written {
  readonly name: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
  readonly offset: number
}

/** A call that the parser replaces by another expression. Source: cel-go parser/macro.go. */
export interface Macro {
  readonly name: string
  readonly member: boolean
  readonly args: number
  /** Returns undefined when the call is not this macro after all. */
  readonly expand: (written: Written, make: Maker) => Expr | undefined
}

/** A macro has wrong arguments. */
export class MacroError extends Error {
  readonly offset: number
  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

const keyOf = (name: string, member: boolean, args: number): string => `${name}:${member}:${args}`

export const macroTable = (macros: readonly Macro[]): ReadonlyMap<string, Macro> =>
  new Map(macros.map((macro) => [keyOf(macro.name, macro.member, macro.args), macro]))

/** Returns the expansion of a call that is a macro; undefined when it is none. Throws MacroError. */
export function expandMacro(table: ReadonlyMap<string, Macro>, written: Written, copies: Copies): Expr | undefined {
  const macro = table.get(keyOf(written.name, written.target !== undefined, written.args.length))
  return macro?.expand(written, new Maker(written.offset, copies))
}

/**
 * How many nodes macros may still copy in one expression. Differs from upstream, which has no limit: a chain of thirty
 * `optMap` doubles what is before it thirty times.
 */
export interface Copies {
  left: number
}
export const MOST_COPIES = 100_000

/** Creates nodes at the position of the macro. */
export class Maker {
  readonly offset: number
  readonly #copies: Copies
  constructor(offset: number, copies: Copies) {
    this.offset = offset
    this.#copies = copies
  }
  /** Returns a deep copy, for an expression that a macro uses twice, since the checker writes into nodes. */
  copy(expr: Expr): Expr {
    if (--this.#copies.left < 0) throw new MacroError(this.offset, "the expression is too large")
    const copy = (inner: Expr): Expr => this.copy(inner)
    return copyOf(expr, copy)
  }
  literal(value: Value): Expr {
    return { kind: "literal", offset: this.offset, value }
  }
  ident(name: string): Expr {
    return { kind: "ident", offset: this.offset, name }
  }
  accumulator(): Expr {
    return this.ident(ACCUMULATOR)
  }
  call(name: string, ...args: readonly Expr[]): Expr {
    return { kind: "call", offset: this.offset, function: name, target: undefined, args }
  }
  memberCall(name: string, target: Expr, ...args: readonly Expr[]): Expr {
    return { kind: "call", offset: this.offset, function: name, target, args }
  }
  list(...elements: readonly Expr[]): Expr {
    return { kind: "list", offset: this.offset, elements, optional: new Set() }
  }
  map(): MapExpr {
    return { kind: "map", offset: this.offset, entries: [] }
  }
  /** Creates a loop with the accumulator of the macros. */
  loop(parts: {
    range: Expr
    variable: string
    variable2?: string
    init: Expr
    condition: Expr
    step: Expr
    result?: Expr
  }): Expr {
    return {
      kind: "comprehension",
      offset: this.offset,
      variable2: undefined,
      accumulator: ACCUMULATOR,
      result: this.accumulator(),
      ...parts,
    }
  }
  /** Evaluates `expression` with a variable: a loop over nothing whose accumulator is the variable. */
  bind(variable: string, value: Expr, expression: Expr): Expr {
    return {
      kind: "comprehension",
      offset: this.offset,
      range: this.list(),
      variable: "#unused",
      variable2: undefined,
      accumulator: variable,
      init: value,
      condition: this.literal(false),
      step: this.ident(variable),
      result: expression,
    }
  }
}

/** Returns an expression with each direct subexpression replaced by its copy. */
function copyOf(expr: Expr, copy: (inner: Expr) => Expr): Expr {
  switch (expr.kind) {
    case "literal":
    case "ident":
      return { ...expr }
    case "select":
      return { ...expr, operand: copy(expr.operand) }
    case "call":
      return { ...expr, target: expr.target && copy(expr.target), args: expr.args.map(copy) }
    case "list":
      return { ...expr, elements: expr.elements.map(copy) }
    case "map":
      return {
        ...expr,
        entries: expr.entries.map((entry) => ({ ...entry, key: copy(entry.key), value: copy(entry.value) })),
      }
    case "struct":
      return { ...expr, fields: expr.fields.map((field) => ({ ...field, value: copy(field.value) })) }
    case "comprehension":
      return {
        ...expr,
        range: copy(expr.range),
        init: copy(expr.init),
        condition: copy(expr.condition),
        step: copy(expr.step),
        result: copy(expr.result),
      }
  }
}

/** Returns the name that an argument of a macro is. */
export function variableName(arg: Expr, fault: string): string {
  if (arg.kind !== "ident") throw new MacroError(arg.offset, fault)
  if (arg.name === ACCUMULATOR || arg.name === "__result__")
    throw new MacroError(arg.offset, "iteration variable overwrites accumulator variable")
  return arg.name
}

/** Returns the parts of the loop for `all`, `exists` and `exists_one`. */
export function quantifier(kind: "all" | "exists" | "exists_one", condition: Expr, make: Maker) {
  if (kind === "all")
    return {
      init: make.literal(true),
      condition: make.call("@not_strictly_false", make.accumulator()),
      step: make.call("_&&_", make.accumulator(), condition),
    }
  if (kind === "exists")
    return {
      init: make.literal(false),
      condition: make.call("@not_strictly_false", make.call("!_", make.accumulator())),
      step: make.call("_||_", make.accumulator(), condition),
    }
  const more = make.call("_+_", make.accumulator(), make.literal(1))
  return {
    init: make.literal(0),
    condition: make.literal(true),
    step: make.call("_?_:_", condition, more, make.accumulator()),
    result: make.call("_==_", make.accumulator(), make.literal(1)),
  }
}

const quantifierMacro = (name: string, kind: "all" | "exists" | "exists_one"): Macro => ({
  name,
  member: true,
  args: 2,
  expand: ({ target, args }, make) =>
    make.loop({
      range: target!,
      variable: variableName(args[0]!, "argument must be a simple name"),
      ...quantifier(kind, args[1]!, make),
    }),
})

/** `list.map(v, f)`, or with a filter `list.map(v, p, f)`. */
export function expandMap(range: Expr, args: readonly Expr[], make: Maker): Expr {
  const variable = variableName(args[0]!, "argument is not an identifier")
  const more = make.call("_+_", make.accumulator(), make.list(args.at(-1)!))
  const step = args.length === 3 ? make.call("_?_:_", args[1]!, more, make.accumulator()) : more
  return make.loop({ range, variable, init: make.list(), condition: make.literal(true), step })
}

const mapMacro = (args: number): Macro => ({
  name: "map",
  member: true,
  args,
  expand: ({ target, args: written }, make) => expandMap(target!, written, make),
})

/** The macros of the language itself. */
export const STANDARD_MACROS: readonly Macro[] = [
  {
    name: "has",
    member: false,
    args: 1,
    expand({ args }, make) {
      const select = args[0]!
      if (select.kind !== "select") throw new MacroError(select.offset, "invalid argument to has() macro")
      return { ...select, offset: make.offset, testOnly: true }
    },
  },
  quantifierMacro("all", "all"),
  quantifierMacro("exists", "exists"),
  quantifierMacro("exists_one", "exists_one"),
  quantifierMacro("existsOne", "exists_one"),
  mapMacro(2),
  mapMacro(3),
  {
    name: "filter",
    member: true,
    args: 2,
    expand({ target, args }, make) {
      const variable = variableName(args[0]!, "argument is not an identifier")
      const more = make.call("_+_", make.accumulator(), make.list(args[0]!))
      const step = make.call("_?_:_", args[1]!, more, make.accumulator())
      return make.loop({ range: target!, variable, init: make.list(), condition: make.literal(true), step })
    },
  },
]
