import { sizeOrUnknown, type CallEstimate, type EstimatedNode } from "./estimated-node.ts"
import { exactly, plus, scaled, times, type Range } from "./range.ts"
import { PATTERN, TEXT } from "./sizes.ts"

/**
 * Estimates for functions of the language, by the names of their overloads. Source: cel-go checker/cost.go
 * functionCost.
 */

const ONE: CallEstimate = { cost: exactly(1) }

const COMPARISONS: ReadonlySet<string> = new Set([
  ...["less", "greater", "less_equals", "greater_equals"].flatMap((name) => [`${name}_string`, `${name}_bytes`]),
  "equals",
  "not_equals",
])

/** Returns the cost of matching a pattern; matching an empty string costs something too. */
export const matching = (text: Range, pattern: Range): Range =>
  times(scaled(plus(text, exactly(1)), TEXT), scaled(pattern, PATTERN))

export function estimateStandardCall(
  id: string,
  target: EstimatedNode | undefined,
  args: readonly EstimatedNode[],
): CallEstimate {
  const sizes = args.map(sizeOrUnknown)
  const [first, second] = sizes
  if (COMPARISONS.has(id)) {
    const most = Math.min(first!.max, second!.max)
    return { cost: scaled({ min: most > 0 ? 1 : 0, max: most }, TEXT) }
  }
  const size = target && sizeOrUnknown(target)
  switch (id) {
    case "string_format":
      return size === undefined ? ONE : { cost: scaled(size, TEXT) }
    case "string_to_bytes":
      return { cost: scaled(first!, TEXT), resultSize: { min: first!.min, max: first!.max * 4 } }
    case "bytes_to_string":
      return { cost: scaled(first!, TEXT), resultSize: { min: Math.floor(first!.min / 4), max: first!.max } }
    case "strings_quote":
      return { cost: scaled(first!, TEXT), resultSize: { min: first!.min + 2, max: first!.max * 2 + 2 } }
    case "starts_with_string":
    case "ends_with_string":
      return { cost: scaled(first!, TEXT) }
    case "in_list":
      return { cost: second! }
    case "matches_string":
      return size === undefined ? ONE : { cost: matching(size, first!) }
    case "contains_string":
      return size === undefined ? ONE : { cost: times(scaled(size, TEXT), scaled(first!, TEXT)) }
    case "add_list":
      return { cost: exactly(1), resultSize: plus(first!, second!) }
    case "add_string":
    case "add_bytes": {
      const both = plus(first!, second!)
      return { cost: scaled(both, TEXT), resultSize: both }
    }
    default:
      return ONE
  }
}
