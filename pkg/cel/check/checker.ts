import type { FunctionDeclaration, Overload } from "../library/declare.ts"
import {
  children,
  type Call,
  type Comprehension,
  type Expr,
  type ListExpr,
  type MapExpr,
  type Select,
  type StructExpr,
} from "../syntax/ast.ts"
import { fieldOf } from "../escape.ts"
import type { Issues } from "../syntax/issue.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR_TYPE,
  formatType,
  INT,
  isOptional,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  paramOf,
  sameType,
  STRING,
  typeOf,
  UINT,
  type CelType,
} from "../type.ts"
import { Double, isInt, Uint, type Value } from "../values/values.ts"
import { Bindings, isDynOrError, mostGeneral } from "./unify.ts"

/** The names and functions that an expression may use. */
export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>
  readonly functions: ReadonlyMap<string, FunctionDeclaration>
  /** Returns the type with a name such as `int`; undefined when there is none. */
  readonly types: (name: string) => CelType | undefined
}

/**
 * Gives every node its type and every call its overloads. Faults are reported with cel-go's messages. Source: cel-go
 * checker/checker.go.
 */
export function check(root: Expr, environment: Environment, issues: Issues): CelType {
  const checker = new Checker(environment, issues)
  checker.check(root)
  checker.settle(root)
  return root.type!
}

class Checker {
  readonly #environment: Environment
  readonly #issues: Issues
  readonly #bindings = new Bindings()
  /** Variables of comprehensions, the innermost last. */
  readonly #scopes: Map<string, CelType>[] = []
  #freeVariables = 0

  constructor(environment: Environment, issues: Issues) {
    this.#environment = environment
    this.#issues = issues
  }

  check(expr: Expr): void {
    switch (expr.kind) {
      case "literal":
        expr.type = literalType(expr.value)
        return
      case "ident": {
        const type = this.#lookup(expr.name)
        if (type === undefined) this.#undeclared(expr.offset, expr.name)
        expr.type = type ?? ERROR_TYPE
        return
      }
      case "select":
        this.#select(expr)
        return
      case "call":
        this.#call(expr)
        return
      case "list":
        this.#list(expr)
        return
      case "map":
        this.#map(expr)
        return
      case "struct":
        this.#struct(expr)
        return
      case "comprehension":
        this.#comprehension(expr)
    }
  }

  /** Replaces type variables in all types below a node by their bindings, and unbound ones by dyn. */
  settle(expr: Expr): void {
    expr.type = this.#bindings.substitute(expr.type ?? DYN, true)
    for (const child of children(expr)) this.settle(child)
  }

  #report(offset: number, message: string): void {
    this.#issues.report(offset, message)
  }

  #undeclared(offset: number, name: string): void {
    this.#report(offset, `undeclared reference to '${name}' (in container '')`)
  }

  #mismatch(offset: number, expected: CelType, found: CelType): void {
    this.#report(offset, `expected type '${formatType(expected)}' but found '${formatType(found)}'`)
  }

  #lookup(written: string): CelType | undefined {
    const name = written.startsWith(".") ? written.slice(1) : written
    if (name === written)
      for (let i = this.#scopes.length - 1; i >= 0; i--) {
        const type = this.#scopes[i]!.get(name)
        if (type !== undefined) return type
      }
    const variable = this.#environment.variables.get(name)
    if (variable !== undefined) return variable
    const type = this.#environment.types(name)
    return type && typeOf(type)
  }

  #select(expr: Select): void {
    const name = qualifiedName(expr)
    const declared = name === undefined || this.#isShadowed(name) ? undefined : this.#lookup(name)
    if (declared !== undefined) {
      expr.qualified = name!.replace(/^\./, "")
      expr.type = declared
      return
    }
    const type = this.#field(expr.offset, expr.operand, expr.field, false)
    expr.type = expr.testOnly ? BOOL : this.#bindings.substitute(type, false)
  }

  /** Whether the first part of a dotted name is the variable of a comprehension. */
  #isShadowed(name: string): boolean {
    const first = name.slice(0, name.indexOf("."))
    return this.#scopes.some((scope) => scope.has(first))
  }

  /** Returns the type of a field; also checks the operand. */
  #field(offset: number, operand: Expr, field: string, optional: boolean): CelType {
    this.check(operand)
    const type = this.#bindings.substitute(operand.type!, false)
    const wrapped = isOptional(type)
    const result = this.#fieldOf(offset, wrapped ? type.params[0]! : type, field)
    return wrapped || optional ? optionalOf(result) : result
  }

  #fieldOf(offset: number, type: CelType, field: string): CelType {
    if (type.kind === "map") return type.params[1]!
    if (type.kind === "object") {
      if (type.fields === undefined) {
        this.#report(offset, `unexpected failed resolution of '${type.name}'`)
        return ERROR_TYPE
      }
      const found = fieldOf(type, field)
      if (found === undefined) this.#report(offset, `undefined field '${field}'`)
      return found?.type ?? ERROR_TYPE
    }
    if (type.kind === "param") this.#bindings.assignable([DYN], [type])
    else if (!isDynOrError(type)) this.#report(offset, `type '${formatType(type)}' does not support field selection`)
    return DYN
  }

  #call(expr: Call): void {
    if (expr.function === "_?._") {
      this.#optionalSelect(expr)
      return
    }
    for (const arg of expr.args) this.check(arg)
    const { target } = expr
    if (target === undefined) {
      this.#resolve(expr, expr.function.replace(/^\./, ""), false)
      return
    }
    const prefix = qualifiedName(target)
    const namespaced = prefix === undefined ? undefined : `${prefix.replace(/^\./, "")}.${expr.function}`
    if (namespaced !== undefined && this.#environment.functions.has(namespaced)) {
      this.#resolve(expr, namespaced, true)
      return
    }
    this.check(target)
    this.#resolve(expr, expr.function, false)
  }

  #optionalSelect(expr: Call): void {
    const [operand, field] = expr.args as [Expr, Expr]
    const name = field.kind === "literal" ? String(field.value) : ""
    field.type = STRING
    expr.type = this.#bindings.substitute(this.#field(expr.offset, operand, name, true), false)
    const declaration = this.#environment.functions.get("_?._")!
    expr.resolved = { name: "_?._", namespaced: false, overloads: declaration.overloads }
  }

  /** Finds the overloads that the arguments fit. */
  #resolve(expr: Call, name: string, namespaced: boolean): void {
    const declaration = this.#environment.functions.get(name)
    if (declaration === undefined) {
      this.#undeclared(expr.offset, name)
      expr.type = ERROR_TYPE
      return
    }
    if (name === "_&&_" || name === "_||_") {
      expr.resolved = { name, namespaced, overloads: declaration.overloads }
      const fits = expr.args.map((arg) => this.#assert(arg, BOOL))
      expr.type = fits.every(Boolean) ? BOOL : ERROR_TYPE
      return
    }
    const isMember = expr.target !== undefined && !namespaced
    const args = isMember ? [expr.target!, ...expr.args] : expr.args
    const types = args.map((arg) => arg.type!)
    const fitting: Overload[] = []
    let result: CelType | undefined
    for (const overload of declaration.overloads) {
      if (overload.member !== isMember) continue
      const fresh = this.#instantiate(overload)
      if (!this.#bindings.assignable(types, fresh.args)) continue
      fitting.push(overload)
      const type = this.#bindings.substitute(fresh.result, false)
      if (result === undefined) result = type
      else if (result.kind !== "dyn" && !sameType(type, result)) result = DYN
    }
    if (result === undefined) {
      const shown = types.map((type) => formatType(this.#bindings.substitute(type, true)))
      const signature = isMember ? `${shown[0]}.(${shown.slice(1).join(", ")})` : `(${shown.join(", ")})`
      this.#report(expr.offset, `found no matching overload for '${name}' applied to '${signature}'`)
    }
    expr.resolved = { name, namespaced, overloads: fitting }
    expr.type = result ?? ERROR_TYPE
  }

  /** Returns the types of an overload with fresh type variables. */
  #instantiate(overload: Overload): { args: readonly CelType[]; result: CelType } {
    const names = new Set<string>()
    for (const type of [...overload.args, overload.result]) collectParams(type, names)
    if (names.size === 0) return overload
    const fresh = new Bindings(new Map([...names].map((name) => [name, this.#variable()])))
    return {
      args: overload.args.map((type) => fresh.substitute(type, false)),
      result: fresh.substitute(overload.result, false),
    }
  }

  #variable(): CelType {
    return paramOf(`_var${this.#freeVariables++}`)
  }

  #assert(expr: Expr, type: CelType): boolean {
    if (this.#bindings.assignable([expr.type!], [type])) return true
    this.#mismatch(expr.offset, type, expr.type!)
    return false
  }

  /** Returns the type of a list element, map value or field, which may be written as an optional. */
  #element(expr: Expr, optional: boolean): CelType {
    this.check(expr)
    if (!optional) return expr.type!
    const type = this.#bindings.substitute(expr.type!, false)
    if (isOptional(type)) return type.params[0]!
    if (type.kind !== "dyn") this.#mismatch(expr.offset, optionalOf(type), type)
    return type
  }

  /** Returns the common type of a list's or map's elements. Kubernetes refuses mixed types later (validate.ts). */
  #join(before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type
    if (this.#bindings.assignable([before], [type])) return mostGeneral(before, type)
    return DYN
  }

  #list(expr: ListExpr): void {
    let element: CelType | undefined
    expr.elements.forEach((item, i) => {
      element = this.#join(element, this.#element(item, expr.optional.has(i)))
    })
    expr.type = listOf(element ?? this.#variable())
  }

  #map(expr: MapExpr): void {
    let key: CelType | undefined
    let value: CelType | undefined
    for (const entry of expr.entries) {
      key = this.#join(key, this.#element(entry.key, false))
      value = this.#join(value, this.#element(entry.value, entry.optional))
    }
    expr.type = mapOf(key ?? this.#variable(), value ?? this.#variable())
  }

  #struct(expr: StructExpr): void {
    const declared = this.#lookup(expr.name)
    const type = declared?.kind === "type" ? declared.params[0] : undefined
    if (declared === undefined) {
      this.#undeclared(expr.offset, expr.name)
      expr.type = ERROR_TYPE
      return
    }
    if (type === undefined) this.#report(expr.offset, `'${declared.name}' is not a type`)
    else if (type.kind !== "object") this.#report(expr.offset, `'${type.name}' is not a message type`)
    const object = type?.kind === "object" ? type : undefined
    expr.type = object ?? ERROR_TYPE
    for (const field of expr.fields) {
      const value = this.#element(field.value, field.optional)
      if (object === undefined) {
        const fault =
          type === undefined ? `unexpected failed resolution of '${expr.name}'` : `undefined field '${field.name}'`
        this.#report(field.offset, fault)
        continue
      }
      const wanted = this.#fieldOf(field.offset, object, field.name)
      if (!this.#bindings.assignable([wanted], [value]))
        this.#report(
          field.offset,
          `expected type of field '${field.name}' is '${formatType(wanted)}' but provided type is ` +
            `'${formatType(value)}'`,
        )
    }
  }

  #comprehension(expr: Comprehension): void {
    this.check(expr.range)
    this.check(expr.init)
    const accumulator = expr.init.type!
    this.#scopes.push(new Map([[expr.accumulator, accumulator]]))
    const [first, second] = this.#iterated(expr)
    const loop = new Map([[expr.variable, first]])
    if (expr.variable2 !== undefined) loop.set(expr.variable2, second)
    this.#scopes.push(loop)
    this.check(expr.condition)
    this.#assert(expr.condition, BOOL)
    this.check(expr.step)
    if (!this.#bindings.assignable([accumulator], [expr.step.type!]))
      this.#mismatch(expr.step.offset, accumulator, expr.step.type!)
    this.#scopes.pop()
    this.check(expr.result)
    this.#scopes.pop()
    expr.type = this.#bindings.substitute(expr.result.type!, false)
  }

  /** Returns the types of the one or two variables of a loop. */
  #iterated({ range, variable2 }: Comprehension): readonly [CelType, CelType] {
    const type = this.#bindings.substitute(range.type!, false)
    switch (type.kind) {
      case "list":
        return variable2 === undefined ? [type.params[0]!, ERROR_TYPE] : [INT, type.params[0]!]
      case "map":
        return [type.params[0]!, type.params[1]!]
      case "dyn":
      case "error":
      case "param":
        this.#bindings.assignable([DYN], [type])
        return [DYN, DYN]
      default:
        this.#report(
          range.offset,
          `expression of type '${formatType(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        )
        return [ERROR_TYPE, ERROR_TYPE]
    }
  }
}

function collectParams(type: CelType, names: Set<string>): void {
  if (type.kind === "param") names.add(type.name)
  for (const param of type.params) collectParams(param, names)
}

function literalType(value: Value): CelType {
  if (value === null) return NULL
  if (isInt(value)) return INT
  if (typeof value === "boolean") return BOOL
  if (typeof value === "string") return STRING
  if (value instanceof Uint) return UINT
  return value instanceof Double ? DOUBLE : BYTES
}

/** Returns `a.b.c` as one name; undefined when it is not made of names only. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name
  if (expr.kind !== "select" || expr.testOnly) return undefined
  const prefix = qualifiedName(expr.operand)
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`
}
