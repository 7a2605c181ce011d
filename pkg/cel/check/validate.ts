import { countPattern, expansionOf } from "../../re2/limits.ts"
import { toDuration, toTimestamp } from "../values/convert.ts"
import { clauseFault, formatKinds, parseFormat } from "../library/format-text.ts"
import { compilePattern, PATTERN_FUNCTIONS } from "../regex.ts"
import type { Call, Expr, ListExpr, MapExpr } from "../syntax/ast.ts"
import type { Issues } from "../syntax/issue.ts"
import { formatType, isOptional, sameType, type CelType } from "../type.ts"
import { CelError, type Value } from "../values/values.ts"
import { children } from "../syntax/ast.ts"

/**
 * Reports the errors besides type errors that Kubernetes refuses: literal arguments that a function cannot accept, and
 * lists and maps of mixed types. Source: apiserver pkg/cel/environment/base.go, cel-go cel/validator.go and
 * ext/formatting.go.
 */
export function validate(root: Expr, issues: Issues): void {
  if (validatePatterns(root, issues)) visit(root, false, issues)
}

/** What the repetitions of an expression's constant patterns may add to them, in instructions. */
const MOST_OF_EXPRESSION = 20_000

/**
 * Whether all constant patterns together are small enough to be compiled. Differs from upstream, which compiles as many
 * as there are.
 */
function validatePatterns(root: Expr, issues: Issues): boolean {
  let expansion = 0
  const visitPatterns = (expr: Expr): boolean => {
    const [pattern] = expr.kind === "call" && PATTERN_FUNCTIONS.has(expr.function) ? expr.args : []
    if (pattern?.kind === "literal" && typeof pattern.value === "string") {
      expansion += expansionOf(pattern.value)
      const problem =
        expansion > MOST_OF_EXPRESSION
          ? `the repetitions in the patterns of this expression are too large: at most ${MOST_OF_EXPRESSION} steps are allowed`
          : countPattern(pattern.value)
      if (problem !== undefined) {
        issues.report(pattern.offset, problem)
        return false
      }
    }
    return children(expr).every(visitPatterns)
  }
  return visitPatterns(root)
}

function visit(expr: Expr, inFormat: boolean, issues: Issues): void {
  if (expr.kind === "call") validateCall(expr, issues)
  if (expr.kind === "list" && !inFormat) validateList(expr, issues)
  if (expr.kind === "map" && !inFormat) validateMap(expr, issues)
  const isFormat = inFormat || (expr.kind === "call" && expr.function === "format")
  for (const child of children(expr)) visit(child, isFormat, issues)
}

/** Checks of functions' first arguments, when these are literals. */
const LITERALS: Readonly<Record<string, (value: Value) => boolean>> = {
  duration: (value) => !(toDuration(value) instanceof CelError),
  timestamp: (value) => !(toTimestamp(value) instanceof CelError),
  matches: (value) => typeof value !== "string" || typeof compilePattern(value) !== "string",
}

function validateCall(expr: Call, issues: Issues): void {
  const [first] = expr.args
  if (first?.kind === "literal" && LITERALS[expr.function]?.(first.value) === false)
    issues.report(first.offset, `invalid ${expr.function} argument`)
  if (expr.function === "format" && expr.target?.kind === "literal" && first?.kind === "list")
    validateFormat(expr, String(expr.target.value), first, issues)
}

function validateList({ elements, optional }: ListExpr, issues: Issues): void {
  const types = elements.map((element, i) => (optional.has(i) ? unwrapped(element.type!) : element.type!))
  const wrong = types.findIndex((type) => !sameType(types[0]!, type))
  if (wrong > 0) mismatch(elements[wrong]!, types[0]!, types[wrong]!, issues)
}

function validateMap({ entries }: MapExpr, issues: Issues): void {
  const [first] = entries
  if (first === undefined) return
  const valueType = (entry: MapExpr["entries"][number]) =>
    entry.optional ? unwrapped(entry.value.type!) : entry.value.type!
  for (const entry of entries.slice(1)) {
    if (!sameType(first.key.type!, entry.key.type!)) mismatch(entry.key, first.key.type!, entry.key.type!, issues)
    if (!sameType(valueType(first), valueType(entry))) mismatch(entry.value, valueType(first), valueType(entry), issues)
  }
}

const unwrapped = (type: CelType): CelType => (isOptional(type) ? type.params[0]! : type)

function mismatch(expr: Expr, expected: CelType, found: CelType, issues: Issues): void {
  issues.report(expr.offset, `expected type '${formatType(expected)}' but found '${formatType(found)}'`)
}

function validateFormat(call: Call, format: string, args: ListExpr, issues: Issues): void {
  const parts = parseFormat(format)
  if (parts instanceof CelError) {
    issues.report(call.offset, parts.message)
    return
  }
  let index = 0
  for (const part of parts) {
    if (typeof part === "string") continue
    const arg = args.elements[index]
    if (arg === undefined) {
      issues.report(call.offset, `index ${index} out of range`)
      return
    }
    const wrong = misfit(part.verb, arg)
    if (wrong !== undefined) {
      issues.report(wrong.offset, clauseFault(part.verb, wrong.type!))
      return
    }
    index++
  }
  if (args.elements.length > index)
    issues.report(
      call.offset,
      `too many arguments supplied to string.format (expected ${index}, got ${args.elements.length})`,
    )
}

/** Returns the expression that a formatting clause cannot show: the argument, or a part of it. */
function misfit(verb: string, arg: Expr): Expr | undefined {
  const { kind } = arg.type!
  if (kind !== "dyn" && !formatKinds(verb).includes(kind)) return arg
  if (verb !== "s" || (arg.kind !== "list" && arg.kind !== "map")) return undefined
  for (const child of children(arg)) {
    const wrong = misfit(verb, child)
    if (wrong !== undefined) return wrong
  }
  return undefined
}
