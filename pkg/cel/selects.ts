import { KUBERNETES } from "./kubernetes.ts"
import { children, type Expr } from "./syntax/ast.ts"
import { Issues } from "./syntax/issue.ts"
import { macroTable } from "./syntax/macros.ts"
import { parse } from "./syntax/parser.ts"

const MACROS = macroTable(KUBERNETES.macros)

/**
 * Returns whether an expression reads `variable.field`, also as `has(variable.field)` or `variable.?field`. False for
 * an expression that cannot be parsed.
 */
export function selectsField(source: string, variable: string, field: string): boolean {
  const isVariable = (expr: Expr | undefined) => expr?.kind === "ident" && expr.name === variable
  const selects = (expr: Expr): boolean =>
    (expr.kind === "select" && expr.field === field && isVariable(expr.operand)) ||
    (expr.kind === "call" &&
      expr.function === "_?._" &&
      isVariable(expr.args[0]) &&
      expr.args[1]?.kind === "literal" &&
      expr.args[1].value === field) ||
    children(expr).some(selects)
  const expression = parse(source, MACROS, new Issues(source))
  return expression !== undefined && selects(expression)
}
