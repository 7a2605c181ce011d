/** Expressions that say when a webhook is asked. Source: apiserver pkg/authorization/cel. */
import type { Cause } from "../../../../pkg/apimachinery/errors.ts"
import { internalFault, invalidValue } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { compile } from "../../../../pkg/cel/compile.ts"
import type { Program } from "../../../../pkg/cel/program.ts"
import { formatIssues } from "../../../../pkg/cel/syntax/issue.ts"
import { BOOL, formatType, listOf, mapOf, objectOf, sameType, STRING } from "../../../../pkg/cel/type.ts"

const REQUIREMENT = objectOf("kubernetes.SelectorRequirement", {
  key: STRING,
  operator: STRING,
  values: listOf(STRING),
})
const selector = (name: string) => objectOf(name, { rawSelector: STRING, requirements: listOf(REQUIREMENT) })
const REQUEST = objectOf("kubernetes.SubjectAccessReviewSpec", {
  resourceAttributes: objectOf("kubernetes.ResourceAttributes", {
    namespace: STRING,
    verb: STRING,
    group: STRING,
    version: STRING,
    resource: STRING,
    subresource: STRING,
    name: STRING,
    fieldSelector: selector("kubernetes.FieldSelectorAttributes"),
    labelSelector: selector("kubernetes.LabelSelectorAttributes"),
  }),
  nonResourceAttributes: objectOf("kubernetes.NonResourceAttributes", { path: STRING, verb: STRING }),
  user: STRING,
  groups: listOf(STRING),
  extra: mapOf(STRING, listOf(STRING)),
  uid: STRING,
})

/** Compiles a condition. Returns the fault at `field` when it cannot be used. */
export function compiledCondition(
  field: string,
  expression: string,
): { readonly program: Program } | { readonly fault: Cause } {
  const outcome = compile(expression, { variables: { request: REQUEST } })
  if ("stage" in outcome)
    return {
      fault:
        outcome.stage === "compilation"
          ? invalidValue(field, expression, `compilation failed: ${formatIssues(outcome.issues, expression)}`)
          : internalFault(field, `program instantiation failed: ${outcome.issues[0]?.message ?? ""}`),
    }
  if (sameType(outcome.resultType, BOOL)) return { program: outcome.program }
  const why = `must evaluate to ${formatType(BOOL)} but got ${formatType(outcome.resultType)}`
  return { fault: invalidValue(field, expression, why) }
}
