import { parseLabelSelector, type LabelOperator } from "../../apimachinery/selectors/labels.ts"
import { errorMessage } from "../../errors/error-message.ts"

/** A label selector as it stands in objects, without fields that are empty. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly LabelExpression[]
}

export interface LabelExpression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

const OPERATORS: Readonly<Partial<Record<LabelOperator, string>>> = {
  in: "In",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
}

/**
 * Reads the text form of a selector. Source: apimachinery pkg/apis/meta/v1/helpers.go (ParseToLabelSelector).
 * @throws Error for one that objects cannot have
 */
export function labelSelectorOf(text: string): LabelSelector {
  const labels: Record<string, string> = {}
  const expressions: LabelExpression[] = []
  for (const { key, operator, values } of requirementsOf(text)) {
    if (operator === "=" || operator === "==") {
      labels[key] = values[0] ?? ""
      continue
    }
    if (operator === "gt" || operator === "lt") throw new Error(`"${operator}" isn't supported in label selectors`)
    const name = OPERATORS[operator]
    if (name === undefined) throw new Error(`"${operator}" is not a valid label selector operator`)
    expressions.push({ key, operator: name, ...(values.length === 0 ? {} : { values }) })
  }
  return {
    ...(Object.keys(labels).length === 0 ? {} : { matchLabels: labels }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
  }
}

function requirementsOf(text: string) {
  try {
    return parseLabelSelector(text).requirements
  } catch (err) {
    throw new Error(`couldn't parse the selector string "${text}": ${errorMessage(err)}`, { cause: err })
  }
}
