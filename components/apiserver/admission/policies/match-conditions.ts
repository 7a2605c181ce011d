import type { ExpressionScope } from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import type { MatchCondition } from "../../../../pkg/api/admissionregistration/v1/webhook.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { BOOL } from "../../../../pkg/cel/type.ts"
import { Budget, compileSet, evaluate, MATCH_CONDITIONS_BUDGET, OutOfBudget, type CompiledSet } from "./evaluation.ts"
import type { ConditionsOf, MatchConditionMetrics } from "./match-condition-metrics.ts"

const WITHOUT_PARAMS: ExpressionScope = { hasParams: false, hasAuthorizer: true }
const compiled = new WeakMap<readonly MatchCondition[], CompiledSet>()

/**
 * Whether the match conditions of a webhook or a policy match a request. A false condition means no match even if
 * another one failed.
 */
export type Matching = { readonly matches: boolean } | { readonly error: string }

/** Where an evaluation of conditions is recorded. */
export interface ObservedConditions {
  readonly of: ConditionsOf
  readonly metrics: MatchConditionMetrics
  readonly clock: Pick<Clock, "monotonic">
}

/**
 * Evaluates match conditions. An evaluation in which all are true is not recorded in the metrics, as upstream. Source:
 * webhook/matchconditions/matcher.go.
 */
export function conditionsMatch(
  conditions: readonly MatchCondition[],
  failurePolicy: string,
  activation: () => Readonly<Record<string, unknown>>,
  { of, metrics, clock }: ObservedConditions,
  scope: ExpressionScope = WITHOUT_PARAMS,
): Matching {
  if (conditions.length === 0) return { matches: true }
  const began = clock.monotonic()
  const { errors = 0, ...matching } = judged(conditions, failurePolicy, activation, scope)
  if (!("matches" in matching && matching.matches))
    metrics.evaluated(of, { seconds: (clock.monotonic() - began) / 1000, errors })
  return matching
}

/** `errors` counts the conditions that could not be evaluated. */
function judged(
  conditions: readonly MatchCondition[],
  failurePolicy: string,
  activation: () => Readonly<Record<string, unknown>>,
  scope: ExpressionScope,
): Matching & { readonly errors?: number } {
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
      else if (outcome.value === false) return { matches: false, errors: errors.length }
    }
  } catch (err) {
    if (!(err instanceof OutOfBudget)) throw err
    // An exceeded cost limit is not counted as the error of a condition.
    return failurePolicy === "Ignore" ? { matches: false } : { error: err.message }
  }
  if (errors.length === 0) return { matches: true }
  if (failurePolicy === "Ignore") return { matches: false, errors: errors.length }
  return { error: errors.length === 1 ? errors[0]! : `[${errors.join(", ")}]`, errors: errors.length }
}
