/** Expressions on the claims of a token, and on the user that they become. Source: apiserver pkg/authentication/cel. */
import { compile } from "../../../../pkg/cel/compile.ts"
import type { Program } from "../../../../pkg/cel/program.ts"
import { formatIssues } from "../../../../pkg/cel/syntax/issue.ts"
import {
  BOOL,
  DYN,
  formatType,
  listOf,
  mapOf,
  objectOf,
  sameType,
  STRING,
  type CelType,
} from "../../../../pkg/cel/type.ts"
import type { Cause } from "../../../../pkg/apimachinery/errors.ts"
import { internalFault, invalidValue } from "../../../../pkg/apimachinery/validation/field-errors.ts"

const VARIABLES = {
  claims: { claims: mapOf(STRING, DYN) },
  user: {
    user: objectOf("kubernetes.UserInfo", {
      username: STRING,
      uid: STRING,
      groups: listOf(STRING),
      extra: mapOf(STRING, listOf(STRING)),
    }),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, CelType>>>>

/** What an expression is evaluated for: a condition is true or false, a mapping may be anything until it is evaluated. */
export type ExpressionUse = "condition" | "mapping"

/** Compiles an expression on a variable. Returns the fault at `field` when it cannot be used. */
export function compiled(
  field: string,
  expression: string,
  variable: keyof typeof VARIABLES,
  use: ExpressionUse,
): { readonly program: Program } | { readonly fault: Cause } {
  const outcome = compile(expression, { variables: VARIABLES[variable] })
  if ("stage" in outcome)
    return {
      fault:
        outcome.stage === "compilation"
          ? invalidValue(field, expression, `compilation failed: ${formatIssues(outcome.issues, expression)}`)
          : internalFault(field, `program instantiation failed: ${outcome.issues[0]?.message ?? ""}`),
    }
  if (use === "condition" && !sameType(outcome.resultType, BOOL))
    return { fault: invalidValue(field, expression, `must evaluate to ${formatType(BOOL)}`) }
  return { program: outcome.program }
}
