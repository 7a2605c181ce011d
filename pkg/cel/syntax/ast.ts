import type { CelType } from "../type.ts"
import type { Overload } from "../library/declare.ts"
import type { Value } from "../values/values.ts"

interface Node {
  /** The position of issues about the node: UTF-16 units from the start of the expression. */
  readonly offset: number
  /** Set by the type checker. */
  type?: CelType
}

export interface Literal extends Node {
  readonly kind: "literal"
  readonly value: Value
}
/** A name. The checker replaces `a.b` by one name when that is declared. */
export interface Ident extends Node {
  readonly kind: "ident"
  readonly name: string
}
export interface Select extends Node {
  readonly kind: "select"
  readonly operand: Expr
  readonly field: string
  /** Whether it comes from `has(a.b)`. */
  readonly testOnly: boolean
  /** The declared name that `a.b` as a whole refers to; set by the type checker. */
  qualified?: string
}
export interface Call extends Node {
  readonly kind: "call"
  readonly function: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
  /** The overloads that fit, and the full name of the function; set by the type checker. */
  resolved?: { readonly name: string; readonly namespaced: boolean; readonly overloads: readonly Overload[] }
}
export interface ListExpr extends Node {
  readonly kind: "list"
  readonly elements: readonly Expr[]
  /** The indexes of elements written as `?x`. */
  readonly optional: ReadonlySet<number>
}
export interface MapEntry {
  readonly offset: number
  readonly key: Expr
  readonly value: Expr
  readonly optional: boolean
}
export interface MapExpr extends Node {
  readonly kind: "map"
  readonly entries: readonly MapEntry[]
}
export interface StructField {
  readonly offset: number
  readonly name: string
  readonly value: Expr
  readonly optional: boolean
}
export interface StructExpr extends Node {
  readonly kind: "struct"
  readonly name: string
  readonly fields: readonly StructField[]
}
/** The expansion of macros: a loop over a list or a map with an accumulator. */
export interface Comprehension extends Node {
  readonly kind: "comprehension"
  readonly range: Expr
  readonly variable: string
  /** The second variable of `all(i, v, …)`. */
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension

/** The accumulator's name in macros of the language. Expressions cannot contain this name. */
export const ACCUMULATOR = "@result"

/** Returns the direct subexpressions of an expression. */
export function children(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "literal":
    case "ident":
      return []
    case "select":
      return expr.qualified === undefined ? [expr.operand] : []
    case "call":
      return expr.target === undefined || expr.resolved?.namespaced === true ? expr.args : [expr.target, ...expr.args]
    case "list":
      return expr.elements
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case "struct":
      return expr.fields.map(({ value }) => value)
    case "comprehension":
      return [expr.range, expr.init, expr.condition, expr.step, expr.result]
  }
}
