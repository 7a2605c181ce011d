import { CelError } from "../../../../pkg/cel/values/values.ts"
import { compiledCondition } from "../configuration/conditions.ts"
import type { WebhookConfiguration } from "../configuration/fields.ts"
import type { AccessReviewSpec } from "./access-review.ts"

/**
 * Returns the function that says whether a webhook is asked about a request. A condition that is false decides, even if
 * another one failed. Source: apiserver pkg/authorization/cel/matcher.go.
 * @throws Error (the function) where no condition is false, and one cannot be evaluated
 */
export function matcherOf({ matchConditions = [] }: WebhookConfiguration): (spec: AccessReviewSpec) => boolean {
  const conditions = matchConditions.map(({ expression = "" }) => {
    const outcome = compiledCondition("", expression)
    if ("fault" in outcome) throw new Error(outcome.fault.message)
    return { expression, program: outcome.program }
  })
  return (spec) => {
    const errors: string[] = []
    const variables = { request: shown(spec) }
    for (const { expression, program } of conditions) {
      const { value } = program.evaluate(variables)
      if (value === false) return false
      if (value instanceof CelError)
        errors.push(`cel evaluation error: expression '${expression}' resulted in error: ${value.message}`)
    }
    if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`)
    return true
  }
}

const NO_TEXTS = { namespace: "", verb: "", group: "", version: "", resource: "", subresource: "", name: "" }

/** Expressions see each text of the request and its user, also where it is empty. */
const shown = ({ resourceAttributes, uid = "", extra = {}, ...rest }: AccessReviewSpec): object => ({
  ...rest,
  uid,
  extra,
  ...(resourceAttributes === undefined ? {} : { resourceAttributes: { ...NO_TEXTS, ...resourceAttributes } }),
})
