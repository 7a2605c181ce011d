import { bytesOf } from "../go-fmt/go-bytes.ts"
import { compareText, goTypeOf, numberOf } from "../go-fmt/go-number.ts"
import { sprintf } from "../go-fmt/sprintf.ts"
import { failCall } from "./function-error.ts"
import { unboxed } from "./value.ts"

/** The kinds of values that can be compared with each other: a signed integer also with an unsigned one. */
type Kind = "bool" | "complex" | "int" | "float" | "string" | "other"

function kindOf(value: unknown): Kind {
  if (typeof value === "boolean") return "bool"
  if (typeof value === "string") return "string"
  switch (numberOf(value)?.type) {
    case "int":
    case "int64":
    case "uint8":
      return "int"
    case "float64":
      return "float"
    case "complex128":
      return "complex"
    default:
      return "other"
  }
}

/** Whether a value equals one of the others. @throws FunctionError where Go cannot compare them */
export function isEqual(first: unknown, others: readonly unknown[]): boolean {
  const a = unboxed(first)
  if (others.length === 0) failCall("missing argument for comparison")
  return others.some((other) => equals(a, unboxed(other)))
}

function equals(a: unknown, b: unknown): boolean {
  const kind = kindOf(a)
  if (kind !== kindOf(b)) {
    if (a !== undefined && b !== undefined) failCall(incompatible(a, b))
    return false
  }
  switch (kind) {
    case "bool":
    case "string":
      return a === b
    case "int":
    case "float":
      return numberOf(a)!.value === numberOf(b)!.value
    case "complex":
      return String(numberOf(a)!.value) === String(numberOf(b)!.value)
    case "other":
      return equalOthers(a, b)
  }
}

function equalOthers(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b
  if (Array.isArray(a) !== Array.isArray(b))
    failCall(sprintf("non-comparable types %s: %v, %s: %v", [a, goTypeOf(a), goTypeOf(b), b]))
  return failCall(sprintf("non-comparable type %s: %v", [b, goTypeOf(b)]))
}

const incompatible = (a: unknown, b: unknown): string =>
  `incompatible types for comparison: ${goTypeOf(a)} and ${goTypeOf(b)}`

const NOT_COMPARABLE = "invalid type for comparison"

/** Whether a value is smaller than another. @throws FunctionError where Go cannot compare them */
export function isLess(first: unknown, second: unknown): boolean {
  const [a, b] = [unboxed(first), unboxed(second)]
  const [kind, other] = [kindOf(a), kindOf(b)]
  if (kind === "other" || other === "other") failCall(NOT_COMPARABLE)
  if (kind !== other) failCall(incompatible(a, b))
  if (kind === "bool" || kind === "complex") failCall(NOT_COMPARABLE)
  return kind === "string" ? isTextLess(a as string, b as string) : numberOf(a)!.value < numberOf(b)!.value
}

const isTextLess = (a: string, b: string): boolean =>
  (a.isWellFormed() && b.isWellFormed() ? compareText(a, b) : Buffer.compare(bytesOf(a), bytesOf(b))) < 0

/** Answers `le`, `gt` and `ge` as Go does, from `lt` and `eq`. */
export function compareWith(name: "le" | "gt" | "ge", a: unknown, b: unknown): boolean {
  const less = isLess(a, b)
  if (name === "ge") return !less
  const lessOrEqual = less || isEqual(a, [b])
  return name === "le" ? lessOrEqual : !lessOrEqual
}
