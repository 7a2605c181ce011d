import { trimLeft, trimRight } from "../../../apimachinery/go/go-text.ts"
import { sprintf } from "../../../go-fmt/sprintf.ts"
import { JsonPath } from "../../../jsonpath/jsonpath.ts"
import { relaxedJsonPath } from "../../../jsonpath/relaxed.ts"
import type { Condition } from "./condition.ts"

const QUOTES = `'"`

/**
 * Reads `{.status.phase}=Running`, or a JSONPath alone, which must then have a value. Source: kubectl
 * pkg/cmd/wait/json.go. @throws Error for what is none
 */
export function jsonPathCondition(text: string): Condition {
  const [expression = "", value, ...more] = splitAtSigns(text)
  if (more.length > 0)
    throw new Error(
      "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'",
    )
  const template = relaxedJsonPath(expression)
  const wanted = value === undefined ? undefined : trimRight(trimLeft(value, QUOTES), QUOTES)
  if (wanted === "")
    throw new Error(
      "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
    )
  if (template === "") throw new Error("jsonpath expression cannot be empty")
  const path = new JsonPath(template, { allowMissingKeys: true })
  return { type: "check", isMet: (object) => holds(path.findResults(object), wanted) }
}

/** Splits at each `=` that is not one of two. */
const splitAtSigns = (text: string): readonly string[] => {
  const parts = [""]
  for (const piece of text.split(/(==|=)/))
    if (piece === "=") parts.push("")
    else parts[parts.length - 1] += piece
  return parts
}

/** Whether there is one value, and the one that is wanted where one is. */
function holds([values = [], ...others]: readonly (readonly unknown[])[], wanted: string | undefined): boolean {
  const [value] = values
  if (values.length === 0) return false
  if (others.length > 0) throw new Error("given jsonpath expression matches more than one list")
  if (values.length > 1) throw new Error("given jsonpath expression matches more than one value")
  if (wanted === undefined) return true
  if (typeof value === "object" && value !== null && (Array.isArray(value) || value.constructor === Object))
    throw new Error("jsonpath leads to a nested object or list which is not supported")
  return sprintf("%v", [value]).trim() === wanted.trim()
}
