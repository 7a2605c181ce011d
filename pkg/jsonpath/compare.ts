import { compareText, numberOf } from "../go-fmt/go-number.ts"
import { JsonPathError } from "./jsonpath-error.ts"

type Kind = "bool" | "string" | "int" | "float" | "other"

function kindOf(value: unknown): Kind {
  if (typeof value === "boolean") return "bool"
  if (typeof value === "string") return "string"
  const number = numberOf(value)
  return number === undefined ? "other" : number.type === "float64" ? "float" : "int"
}

const NOT_COMPARABLE = "invalid type for comparison"

/** Returns the kind that both values have. @throws JsonPathError */
function commonKind(left: unknown, right: unknown): Kind {
  const [a, b] = [kindOf(left), kindOf(right)]
  if (a === "other" || b === "other") throw new JsonPathError(NOT_COMPARABLE)
  if (a !== b) throw new JsonPathError("incompatible types for comparison")
  return a
}

function isEqual(left: unknown, right: unknown): boolean {
  const kind = commonKind(left, right)
  return kind === "bool" || kind === "string" ? left === right : numberOf(left)!.value === numberOf(right)!.value
}

function isLess(left: unknown, right: unknown): boolean {
  const kind = commonKind(left, right)
  if (kind === "bool") throw new JsonPathError(NOT_COMPARABLE)
  return kind === "string"
    ? compareText(left as string, right as string) < 0
    : numberOf(left)!.value < numberOf(right)!.value
}

/**
 * Whether a filter's comparison holds. Source: client-go third_party/forked/golang/template.
 * @throws JsonPathError for values that cannot be compared, and for an unknown operator
 */
export function comparison(operator: string, left: unknown, right: unknown): boolean {
  switch (operator) {
    case "==":
      return isEqual(left, right)
    case "!=":
      return !isEqual(left, right)
    case "<":
      return isLess(left, right)
    case "<=":
      return isLess(left, right) || isEqual(left, right)
    case ">":
      return !(isLess(left, right) || isEqual(left, right))
    case ">=":
      return !isLess(left, right)
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`)
  }
}
