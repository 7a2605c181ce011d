import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import type { Scheme } from "../../../../pkg/api/scheme.ts"
import { ApiError, HTTP_CODE, qualified, type Reason } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { allSeenAs, equivalentsIn, type Seen } from "../webhooks/equivalents.ts"
import { isExemptFromWebhooks, matchedResource } from "../webhooks/matching.ts"
import { activationOf, type Sight } from "./activation.ts"
import { Budget, evaluate, LazyVariables, OutOfBudget, POLICY_BUDGET } from "./evaluation.ts"
import { conditionsMatch } from "./match-conditions.ts"
import { collectParams, ConfigurationError, criteriaFor } from "./params.ts"
import { PolicySource, type PolicyInForce } from "./policy-source.ts"

/** Why a policy does not let a request through. */
interface Denial {
  readonly message: string
  readonly reason?: string | undefined
  /** Which of the policy's conditions. */
  readonly index: number
}

type Binding = PolicyInForce["bindings"][number]

const LONGEST_MESSAGE = 5 * 1024
const LONGEST_ANNOTATION = 10 * 1024
const VALIDATION_FAILURE = "validation.policy.admission.k8s.io/validation_failure"

/**
 * ValidatingAdmissionPolicy: holds requests against the conditions of the policies that are bound. The first refusal is
 * told; warnings and notes are made for all. Source: policy/validating/dispatcher.go, validator.go.
 */
export function validatingPolicies(context: AdmissionContext, scheme: Scheme): AdmissionPlugin {
  const source = new PolicySource(context)
  const equivalents = equivalentsIn(scheme)
  const { objects, authorizer } = context

  function validate(
    attributes: AdmissionAttributes,
    matched: readonly MatchedPolicy[],
    seen: ReadonlyMap<Resource, Seen>,
  ): void {
    let refusal: ApiError | undefined
    for (const { inForce, resource } of matched) {
      const { policy, bindings } = inForce
      const { paramKind, failurePolicy } = policy.spec
      if (paramKind !== undefined && scheme.of(paramKind.apiVersion ?? "", paramKind.kind ?? "") === undefined) {
        const kind = `${paramKind.apiVersion ?? ""}, Kind=${paramKind.kind ?? ""}`
        const why = `failed to configure policy: failed to find resource referenced by paramKind: '${kind}'`
        if (failurePolicy !== "Ignore") refusal ??= refusalOf(attributes, policy, undefined, why, undefined)
        continue
      }
      const sight: Sight = {
        attributes,
        authorizer,
        resource,
        ...seen.get(resource)!,
        namespace: namespaceOf(attributes),
      }
      const notes = new Map<string, string[]>()
      for (const binding of bindings) {
        const { matchResources, paramRef } = binding.spec
        if (
          matchResources !== undefined &&
          matchedResource(criteriaFor(matchResources), attributes, objects, equivalents) === undefined
        )
          continue
        const deny = (message: string, reason?: string): void => {
          refusal ??= refusalOf(attributes, policy, binding, message, reason)
        }
        try {
          const namespace = attributes.namespace ?? ""
          for (const params of collectParams(paramKind, paramRef, namespace, { scheme, objects }))
            for (const denial of denials(inForce, { ...sight, params }, notes, deny))
              act(attributes, policy.metadata.name!, binding, denial, deny)
        } catch (err) {
          if (!(err instanceof ConfigurationError)) throw err
          if (failurePolicy !== "Ignore") deny(`failed to configure binding: ${err.message}`)
        }
      }
      for (const [key, values] of notes) attributes.annotate?.(`${policy.metadata.name}/${key}`, values.join(", "))
    }
    if (refusal !== undefined) throw refusal
  }

  /** A Namespace itself is in none. */
  function namespaceOf({ resource, namespace = "" }: AdmissionAttributes): KubeObject | undefined {
    if (namespace === "" || (resource.group === "" && resource.plural === "namespaces")) return undefined
    return objects.get(Namespace, { name: namespace })
  }

  return {
    name: "ValidatingAdmissionPolicy",
    operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
    validate(attributes) {
      const policies = source.all()
      if (policies.length === 0 || isExemptFromWebhooks(attributes)) return undefined
      const matched = policies.flatMap((inForce): readonly MatchedPolicy[] => {
        const { matchConstraints } = inForce.policy.spec
        if (matchConstraints === undefined) return []
        const resource = matchedResource(criteriaFor(matchConstraints), attributes, objects, equivalents)
        return resource === undefined ? [] : [{ inForce, resource }]
      })
      if (matched.length === 0) return undefined
      const seen = allSeenAs(
        attributes,
        matched.map(({ resource }) => resource),
      )
      if (seen instanceof Promise) return seen.then((all) => validate(attributes, matched, all))
      return validate(attributes, matched, seen)
    },
  }
}

/** A policy that is for a request, and the resource as which it sees what the request is about. */
interface MatchedPolicy {
  readonly inForce: PolicyInForce
  readonly resource: Resource
}

/**
 * The conditions of a policy that a request does not meet. Its notes go to `notes`; a note that cannot be made is
 * refused by `deny` where the policy fails.
 */
function denials(
  { policy, scope, variables, validations, annotations }: PolicyInForce,
  sight: Sight,
  notes: Map<string, string[]>,
  deny: (message: string) => void,
): readonly Denial[] {
  const { failurePolicy, matchConditions = [] } = policy.spec
  const fails = failurePolicy !== "Ignore"
  const failure = (message: string, index = 0): readonly Denial[] => (fails ? [{ message, index }] : [])
  const plain = activationOf(sight)
  const matching = conditionsMatch(matchConditions, failurePolicy, () => plain, scope)
  if ("error" in matching) return failure(matching.error)
  if (!matching.matches) return []

  const found: Denial[] = []
  try {
    const budget = new Budget(POLICY_BUDGET)
    const activation = { ...plain, variables: new LazyVariables(variables, plain, budget) }
    for (const [index, { validation, condition, message }] of validations.entries()) {
      const outcome = evaluate(condition, validation.expression, activation, budget)
      if ("error" in outcome) found.push(...failure(outcome.error, index))
      else if (outcome.value !== true) {
        const made =
          message === undefined ? undefined : evaluate(message, validation.messageExpression!, activation, budget)
        found.push({
          message: messageOf(validation, made !== undefined && "value" in made ? made.value : undefined),
          reason: validation.reason,
          index,
        })
      }
    }
    const noteBudget = new Budget(POLICY_BUDGET)
    for (const { annotation, value } of annotations) {
      const outcome = evaluate(value, annotation.valueExpression.trim(), activation, noteBudget)
      if ("error" in outcome) {
        if (fails) deny(outcome.error)
      } else if (typeof outcome.value === "string") note(notes, annotation.key, outcome.value.trim())
    }
  } catch (err) {
    if (err instanceof OutOfBudget) return failure(err.message)
    throw err
  }
  return found
}

/** The message of a condition that is not met: what its expression makes, else its text, else the condition itself. */
function messageOf(
  { message = "", expression }: { readonly message?: string | undefined; readonly expression: string },
  made: unknown,
): string {
  const text = typeof made === "string" ? made.trim() : ""
  if (text !== "" && Buffer.byteLength(text) <= LONGEST_MESSAGE && !text.includes("\n")) return text
  return message.trim() === "" ? `failed expression: ${expression.trim()}` : message.trim()
}

function note(notes: Map<string, string[]>, key: string, value: string): void {
  if (value === "") return
  const values = notes.get(key) ?? []
  const cut = value.slice(0, LONGEST_ANNOTATION)
  if (!values.includes(cut)) values.push(cut)
  notes.set(key, values)
}

/** Does what a binding says of a condition that is not met. */
function act(
  { warn, annotate }: AdmissionAttributes,
  policy: string,
  { metadata: { name = "" }, spec: { validationActions, policyName } }: Binding,
  { message, reason, index }: Denial,
  deny: (message: string, reason?: string) => void,
): void {
  for (const action of validationActions) {
    if (action === "Deny") deny(message, reason)
    if (action === "Warn")
      warn(`Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${message}`)
    if (action === "Audit")
      annotate?.(
        VALIDATION_FAILURE,
        JSON.stringify([{ message, policy: policyName, binding: name, expressionIndex: index, validationActions }]),
      )
  }
}

function refusalOf(
  { resource, name, object }: AdmissionAttributes,
  policy: PolicyInForce["policy"],
  binding: Binding | undefined,
  why: string,
  wanted: string | undefined,
): ApiError {
  const bound = binding === undefined ? "" : ` with binding '${binding.metadata.name}'`
  const message = `ValidatingAdmissionPolicy '${policy.metadata.name}'${bound} denied request: ${why}`
  const reason = (wanted ?? "Invalid") as Reason
  const shown = name || object?.metadata.name || object?.metadata.generateName || "Unknown"
  return new ApiError(
    reason,
    `${qualified(resource)} ${JSON.stringify(shown)} is forbidden: ${message}`,
    {
      name: shown,
      ...(resource.group === "" ? {} : { group: resource.group }),
      kind: resource.plural,
      causes: [{ message }],
    },
    { code: HTTP_CODE[reason] },
  )
}
