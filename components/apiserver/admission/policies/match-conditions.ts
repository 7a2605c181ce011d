import type { ExpressionScope } from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import type { MatchCondition } from "../../../../pkg/api/admissionregistration/v1/webhook.ts"
import { BOOL } from "../../../../pkg/cel/type.ts"
import { Budget, compileSet, evaluate, MATCH_CONDITIONS_BUDGET, OutOfBudget, type CompiledSet } from "./evaluation.ts"

const WITHOUT_PARAMS: ExpressionScope = { hasParams: false, hasAuthorizer: true }
const compiled = new WeakMap<readonly MatchCondition[], CompiledSet>()

/**
 * Whether a webhook or a policy is for a request, by its conditions: one that is false settles it, before any error
 * counts.
 */
export type Matching = { readonly matches: boolean } | { readonly error: string }

/** Source: webhook/matchconditions/matcher.go. */
export function conditionsMatch(
  conditions: readonly MatchCondition[],
  failurePolicy: string,
  activation: () => Readonly<Record<string, unknown>>,
  scope: ExpressionScope = WITHOUT_PARAMS,
): Matching {
  if (conditions.length === 0) return { matches: true }
  let set = compiled.get(conditions)
  if (set === undefined) {
    set = compileSet(
      conditions.map(({ expression }) => expression.trim()),
      scope,
      [BOOL],
    )
    compiled.set(conditions, set)
  }
  const { expressions, sources } = set
  const budget = new Budget(MATCH_CONDITIONS_BUDGET)
  const variables = activation()
  const errors: string[] = []
  try {
    for (const [i, expression] of expressions.entries()) {
      const outcome = evaluate(expression, sources[i]!, variables, budget)
      if ("error" in outcome) errors.push(outcome.error)
      else if (outcome.value === false) return { matches: false }
    }
  } catch (err) {
    if (!(err instanceof OutOfBudget)) throw err
    errors.splice(0, errors.length, err.message)
  }
  if (errors.length === 0) return { matches: true }
  if (failurePolicy === "Ignore") return { matches: false }
  return { error: errors.length === 1 ? errors[0]! : `[${errors.join(", ")}]` }
}
