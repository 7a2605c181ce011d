import { ValidatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { ValidatingAdmissionPolicyBinding } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
import { ApiError, HTTP_CODE, qualified, type Reason } from "../../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { contain, isMistake } from "../../../../pkg/failure/contain.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import type { Seen } from "../webhooks/equivalents.ts"
import { activationOf, namespaceOf, type Activation } from "./activation.ts"
import { compileValidations, type CompiledValidations } from "./compiled-validations.ts"
import {
  invocationFinder,
  isUnseenByPolicies,
  seenByAll,
  type Invocation,
  type Misconfiguration,
} from "./invocations.ts"
import { errorType, type Enforcement } from "./metrics.ts"
import { ConfigurationError } from "./params.ts"
import type { PolicyDependencies } from "./policy-dependencies.ts"
import { PolicySource } from "./policy-source.ts"
import { shownName } from "./shown-name.ts"
import { inTurns, TurnBudget } from "./turn-budget.ts"
import type { ObservedConditions } from "./match-conditions.ts"
import { decide, type Decision, type Decisions } from "./validations.ts"
import { Decisions as RightsDecisions } from "../../authorization/decisions.ts"
import { isPending, whenReady } from "../../call/maybe-promise.ts"

type Binding = ValidatingAdmissionPolicyBinding
type Misconfigured = Misconfiguration<ValidatingAdmissionPolicy, Binding>
type Found = Invocation<ValidatingAdmissionPolicy, Binding, CompiledValidations> | Misconfigured

const LONGEST_ANNOTATION = 10 * 1024
const ENFORCEMENTS: Readonly<Record<string, Enforcement>> = { Deny: "deny", Warn: "warn", Audit: "audit" }
const VALIDATION_FAILURE = "validation.policy.admission.k8s.io/validation_failure"

/**
 * ValidatingAdmissionPolicy: checks requests with the validations of all policies that have a matching binding. The
 * request fails with the first refusal; all warnings and audit annotations are made. Source:
 * policy/validating/dispatcher.go.
 */
export function validatingPolicies(
  context: AdmissionContext,
  { scheme, metrics, conditions }: PolicyDependencies,
): AdmissionPlugin {
  const { objects, authorizer, clock, log } = context
  const source = new PolicySource(context, {
    policies: ValidatingAdmissionPolicy,
    bindings: ValidatingAdmissionPolicyBinding,
    compile(policy) {
      const began = clock.monotonic()
      const compiled = compileValidations(policy)
      metrics.compiled((clock.monotonic() - began) / 1000)
      return compiled
    },
  })
  const invocationsOf = invocationFinder({ scheme, objects })

  /** Evaluates a policy. A mistake in that is an error of this policy alone, about which its failurePolicy decides. */
  function decideAlone(policy: ValidatingAdmissionPolicy, work: () => Decisions): Decisions {
    try {
      return source.evaluating(policy, work)
    } catch (err) {
      if (!isMistake(err)) throw err
      contain("admission policy", err, log, { policy: policy.metadata.name })
      const kind = policy.spec.failurePolicy === "Ignore" ? "ignored" : "error"
      return { decisions: [{ kind, message: `evaluation failed: ${String(err)}`, index: 0 }], annotations: [] }
    }
  }

  const validate = (...found: Parameters<typeof stepsOf>): void | Promise<void> =>
    inTurns(stepsOf(...found), new TurnBudget(clock))

  /** Each step evaluates one policy with one of its parameters. */
  function* stepsOf(
    attributes: AdmissionAttributes,
    matched: readonly Found[],
    seen: ReadonlyMap<Resource, Seen | ConfigurationError>,
  ): Generator<void | Promise<void>> {
    const rights = new RightsDecisions(authorizer)
    let refusal: ApiError | undefined
    const activations = new Map<Resource, Activation>()
    const activationOn = (resource: Resource, sight: Seen): Activation => {
      let activation = activations.get(resource)
      if (activation === undefined)
        activations.set(resource, (activation = activationOf({ attributes, decider: rights, resource, ...sight })))
      return activation
    }
    const misconfigured = ({ policy, binding, why }: Misconfigured): void => {
      if (policy.spec.failurePolicy !== "Ignore") refusal ??= refusalOf(attributes, policy, binding, why, undefined)
    }
    const namespace = namespaceOf(attributes, objects)
    const notes = new Notes()
    for (const found of matched) {
      if ("why" in found) {
        misconfigured(found)
        continue
      }
      const { inForce, binding, resource, params } = found
      const { policy } = inForce
      const sight = seen.get(resource)!
      if (sight instanceof ConfigurationError) {
        const why = `failed to configure binding: failed to convert object version: ${sight.message}`
        misconfigured({ policy, binding, why })
        continue
      }
      const deny = ({ message, reason }: Pick<Decision, "message" | "reason">): void => {
        refusal ??= refusalOf(attributes, policy, binding, message, reason)
      }
      for (const param of params) {
        const began = clock.monotonic()
        const activation = activationOn(resource, sight)
        const observed: ObservedConditions = {
          of: { name: policy.metadata.name!, kind: "policy", type: "validate", operation: attributes.operation },
          metrics: conditions,
          clock,
        }
        const evaluated = rights.run(() =>
          decideAlone(policy, () => decide(inForce, activation, { params: param, namespace }, observed)),
        )
        const { decisions, annotations } = isPending(evaluated) ? yield* waitFor(evaluated) : evaluated
        const observe = ({ message }: Pick<Decision, "message">, action: Enforcement): void =>
          metrics.checked({
            policy: policy.metadata.name!,
            binding: binding.metadata.name!,
            error: errorType(message),
            action,
            seconds: (clock.monotonic() - began) / 1000,
          })
        for (const decision of decisions) {
          if (decision.kind === "ignored") observe(decision, "allow")
          else
            for (const action of binding.spec.validationActions) {
              if (action === "Deny") deny(decision)
              else act(attributes, { policy, binding }, decision, action)
              if (action in ENFORCEMENTS) observe(decision, ENFORCEMENTS[action]!)
            }
        }
        for (const { key, value, error } of annotations) {
          if (error === undefined) notes.add(`${policy.metadata.name}/${key}`, value)
          else if (policy.spec.failurePolicy !== "Ignore") {
            deny({ message: error })
            observe({ message: error }, "deny")
          }
        }
        yield
      }
    }
    notes.publish(attributes)
    if (refusal !== undefined) throw refusal
  }

  return {
    name: "ValidatingAdmissionPolicy",
    operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
    validate(attributes) {
      const policies = source.all()
      if (policies.length === 0 || isUnseenByPolicies(attributes)) return undefined
      const matched = [...invocationsOf(attributes, policies)]
      if (matched.length === 0) return undefined
      return whenReady(seenByAll(attributes, matched), (seen) => validate(attributes, matched, seen))
    },
  }
}

/** Has the steps go on when a promise has its value, and returns that. */
function* waitFor<T>(pending: Promise<T>): Generator<Promise<void>, T> {
  let value: T
  yield pending.then((known) => void (value = known))
  return value!
}

/** Collects the audit annotations of policies. Different values for the same key are joined by commas. */
class Notes {
  readonly #values = new Map<string, string[]>()

  add(key: string, value: string): void {
    const values = this.#values.get(key) ?? []
    const cut = value.slice(0, LONGEST_ANNOTATION)
    if (!values.includes(cut)) values.push(cut)
    this.#values.set(key, values)
  }
  publish({ annotate }: AdmissionAttributes): void {
    for (const [key, values] of this.#values) annotate?.(key, values.join(", "))
  }
}

/** Does one of the binding's actions, other than Deny, for a validation that failed. */
function act(
  { warn, annotate }: AdmissionAttributes,
  { policy, binding }: { readonly policy: ValidatingAdmissionPolicy; readonly binding: Binding },
  { message, index }: Decision,
  action: string,
): void {
  const { name = "" } = binding.metadata
  const { policyName, validationActions } = binding.spec
  if (action === "Warn")
    warn(`Validation failed for ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${name}': ${message}`)
  if (action === "Audit")
    annotate?.(
      VALIDATION_FAILURE,
      JSON.stringify([{ message, policy: policyName, binding: name, expressionIndex: index, validationActions }]),
    )
}

function refusalOf(
  { resource, name, object }: AdmissionAttributes,
  policy: ValidatingAdmissionPolicy,
  binding: Binding | undefined,
  why: string,
  wanted: string | undefined,
): ApiError {
  const bound = binding === undefined ? "" : ` with binding '${binding.metadata.name}'`
  const message = `ValidatingAdmissionPolicy '${policy.metadata.name}'${bound} denied request: ${why}`
  const reason = (wanted ?? "Invalid") as Reason
  const shown = shownName(name, object)
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
