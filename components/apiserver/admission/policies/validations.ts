import type { ValidatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { shownNamespace, withoutAuthorizer, type Activation } from "./activation.ts"
import type { CompiledValidations } from "./compiled-validations.ts"
import { Budget, evaluate, LazyVariables, OutOfBudget, POLICY_BUDGET, type Outcome } from "./evaluation.ts"
import { conditionsMatch, type ObservedConditions } from "./match-conditions.ts"

/** A validation of a policy that is false or could not be evaluated. */
export interface Decision {
  /**
   *  - `deny`: the validation is false.
   *  - `error`: it could not be evaluated.
   *  - `ignored`: the same under failurePolicy Ignore, which allows the request.
   */
  readonly kind: "deny" | "error" | "ignored"
  readonly message: string
  readonly reason?: string | undefined
  /** Index in `spec.validations` of the policy. */
  readonly index: number
}

/** An audit annotation, or the error of its expression. */
export interface Note {
  readonly key: string
  readonly value: string
  readonly error?: string
}

export interface Decisions {
  readonly decisions: readonly Decision[]
  readonly annotations: readonly Note[]
}

const NOTHING: Decisions = { decisions: [], annotations: [] }
const LONGEST_MESSAGE = 5 * 1024

/**
 * Evaluates the validations of a policy with one parameter object. `activation` has the variables that are the same for
 * all expressions about the request. Source: policy/validating/validator.go.
 */
export function decide(
  { policy, compiled }: { readonly policy: ValidatingAdmissionPolicy; readonly compiled: CompiledValidations },
  activation: Activation,
  { params, namespace }: { readonly params: KubeObject | undefined; readonly namespace: KubeObject | undefined },
  observed: ObservedConditions,
): Decisions {
  const { failurePolicy, matchConditions = [] } = policy.spec
  const failure = (message: string, index = 0): Decision => ({
    kind: failurePolicy === "Ignore" ? "ignored" : "error",
    message,
    index,
  })
  const plain = { ...activation, params: params ?? null }
  const matching = conditionsMatch(matchConditions, failurePolicy, () => plain, observed, compiled.scope)
  if ("error" in matching) return { decisions: [failure(matching.error)], annotations: [] }
  if (!matching.matches) return NOTHING
  try {
    const whole = { ...plain, namespaceObject: namespace === undefined ? null : shownNamespace(namespace) }
    return {
      decisions: conditionsOf(compiled, whole, failure),
      annotations: notesOf(compiled, { ...plain, namespaceObject: namespace ?? null }),
    }
  } catch (err) {
    if (err instanceof OutOfBudget) return { decisions: [failure(err.message)], annotations: [] }
    throw err
  }
}

/** @throws OutOfBudget */
function conditionsOf(
  { variables, validations }: CompiledValidations,
  activation: Activation,
  failure: (message: string, index: number) => Decision,
): readonly Decision[] {
  const budget = new Budget(POLICY_BUDGET)
  const composed = { ...activation, variables: new LazyVariables(variables, activation, budget) }
  const outcomes = validations.map(({ validation, condition }) =>
    evaluate(condition, validation.expression, composed, budget),
  )
  // Differs from upstream, which also evaluates the message expressions of validations that are true, and so may exceed
  // the cost limit.
  if (outcomes.every(holds)) return []
  const messages = messagesOf({ variables, validations }, withoutAuthorizer(activation), budget)
  return outcomes.flatMap((outcome, index): readonly Decision[] => {
    const { validation } = validations[index]!
    if ("error" in outcome) return [failure(outcome.error, index)]
    if ("error" in messages) return [failure(`failed messageExpression: ${messages.error}`, index)]
    if (holds(outcome)) return []
    return [{ kind: "deny", message: messageOf(validation, messages.made[index]), reason: validation.reason, index }]
  })
}

const holds = (outcome: Outcome): boolean => "value" in outcome && outcome.value === true

/**
 * Evaluates the message expressions in the order of the validations. Returns `error` when they exceed the cost limit.
 */
function messagesOf(
  { variables, validations }: Pick<CompiledValidations, "variables" | "validations">,
  activation: Activation,
  budget: Budget,
): { readonly made: readonly unknown[] } | { readonly error: string } {
  const composed = { ...activation, variables: new LazyVariables(variables, activation, budget) }
  try {
    const made = validations.map(({ validation, message }) => {
      const outcome =
        message === undefined ? undefined : evaluate(message, validation.messageExpression!, composed, budget)
      return outcome !== undefined && "value" in outcome ? outcome.value : undefined
    })
    return { made }
  } catch (err) {
    if (err instanceof OutOfBudget) return { error: err.message }
    throw err
  }
}

/**
 * Returns the message of a validation that is false: the result of its messageExpression, else its message, else the
 * expression.
 */
function messageOf(
  { message = "", expression }: { readonly message?: string | undefined; readonly expression: string },
  made: unknown,
): string {
  const text = typeof made === "string" ? made.trim() : ""
  if (text !== "" && Buffer.byteLength(text) <= LONGEST_MESSAGE && !text.includes("\n")) return text
  return message.trim() === "" ? `failed expression: ${expression.trim()}` : message.trim()
}

/** @throws OutOfBudget */
function notesOf({ variables, annotations }: CompiledValidations, activation: Activation): readonly Note[] {
  if (annotations.length === 0) return []
  const seen = withoutAuthorizer(activation)
  const budget = new Budget(POLICY_BUDGET)
  const composed = { ...seen, variables: new LazyVariables(variables, seen, budget) }
  return annotations.flatMap(({ annotation: { key, valueExpression }, value }): readonly Note[] => {
    const outcome = evaluate(value, valueExpression.trim(), composed, budget)
    if ("error" in outcome) return [{ key, value: "", error: outcome.error }]
    const text = typeof outcome.value === "string" ? outcome.value.trim() : ""
    return text === "" ? [] : [{ key, value: text }]
  })
}
