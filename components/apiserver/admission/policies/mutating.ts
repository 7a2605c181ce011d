import { Decisions, Undecided } from "../../authorization/decisions.ts"
import { isPending } from "../../call/maybe-promise.ts"
import { MutatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import { MutatingAdmissionPolicyBinding } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { CelError } from "../../../../pkg/cel/values/values.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { Reinvocation } from "../reinvocation.ts"
import { convertBetween, seenAs, type Seen } from "../webhooks/equivalents.ts"
import { activationOf, namespaceOf, type Activation } from "./activation.ts"
import { compileMutations, type CompiledMutation, type CompiledMutations } from "./compiled-mutations.ts"
import { Budget, LazyVariables, POLICY_BUDGET } from "./evaluation.ts"
import { invocationFinder, isUnseenByPolicies, orFault, type Invocation, type Misconfiguration } from "./invocations.ts"
import { conditionsMatch } from "./match-conditions.ts"
import { errorType } from "./metrics.ts"
import { withConfiguration, withOperations } from "./mutation.ts"
import { MutationFailures } from "./mutation-failures.ts"
import { ConfigurationError } from "./params.ts"
import { TurnBudget } from "./turn-budget.ts"
import type { PolicyDependencies } from "./policy-dependencies.ts"
import { PolicySource } from "./policy-source.ts"

type Found = Invocation<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, CompiledMutations>
type Misconfigured = Misconfiguration<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding>

const NAME = "MutatingAdmissionPolicy"

/**
 * MutatingAdmissionPolicy: applies the mutations of all policies with a matching binding, one after the other. Source:
 * policy/mutating/dispatcher.go.
 */
export function mutatingPolicies(
  context: AdmissionContext,
  { scheme, metrics, conditions }: PolicyDependencies,
): AdmissionPlugin {
  const source = new PolicySource(context, {
    policies: MutatingAdmissionPolicy,
    bindings: MutatingAdmissionPolicyBinding,
    compile: compileMutations,
  })
  const { objects, authorizer, clock } = context
  const invocationsOf = invocationFinder({ scheme, objects })

  async function admit(
    attributes: AdmissionAttributes,
    found: readonly (Found | Misconfigured)[],
  ): Promise<KubeObject | undefined> {
    const failures = new MutationFailures()
    const reinvocation = (attributes.reinvocation ?? new Reinvocation()).of(NAME)
    reinvocation.begin(attributes.object, deepEqual)
    const namespace = namespaceOf(attributes, objects)
    const budget = new TurnBudget(clock)
    const rights = new Decisions(authorizer)
    let current = attributes
    let wasMutated = false
    for (const invocation of found) {
      if ("why" in invocation) {
        failures.add(invocation)
        continue
      }
      const { inForce, binding, resource } = invocation
      const { policy, compiled } = inForce
      const { matchConditions = [], failurePolicy, reinvocationPolicy } = policy.spec
      for (const params of invocation.params) {
        if (budget.isSpent) await budget.next()
        const seen = await orFault(seenAs(current, resource))
        if (seen instanceof ConfigurationError) {
          failures.add({ policy, binding: undefined, why: `failed to configure policy: ${seen.message}` })
          continue
        }
        const see = (sight: Seen): Activation => ({
          ...activationOf({ attributes, decider: rights, resource, ...sight }),
          params: params ?? null,
        })
        // The label `type` is `validate` here too, as upstream.
        const { operation } = attributes
        const of = { name: policy.metadata.name!, kind: "policy", type: "validate", operation } as const
        const observed = { of, metrics: conditions, clock }
        const matched = rights.run(() =>
          source.evaluating(policy, () =>
            conditionsMatch(matchConditions, failurePolicy, () => see(seen), observed, compiled.scope),
          ),
        )
        const matching = isPending(matched) ? await matched : matched
        if ("error" in matching) {
          failures.add({ policy, binding, why: matching.error, isInvalid: true })
          continue
        }
        const id = idOf(policy, binding, params)
        if (!matching.matches || !reinvocation.calls(id)) continue
        let { object } = seen
        for (const mutation of object === undefined ? [] : compiled.mutations) {
          const activation = { ...see({ object, old: seen.old }), namespaceObject: namespace ?? null }
          const current = object!
          const attempted = rights.run(() => mutate(invocation, { object: current, mutation, activation }))
          const mutated = isPending(attempted) ? await attempted : attempted
          if ("why" in mutated) failures.add({ policy, binding, why: mutated.why, isInvalid: true })
          else {
            object = mutated.object
            wasMutated = true
          }
        }
        if (object !== seen.object && !deepEqual(seen.object, object)) {
          current = { ...current, object: await convertBetween(object, resource, attributes.resource) }
          reinvocation.changed()
        }
        if (reinvocationPolicy === "IfNeeded") reinvocation.called(id)
      }
    }
    // A mutation that left the object as it was requests a second round too, as upstream.
    if (wasMutated) reinvocation.changed()
    reinvocation.end(current.object)
    failures.refuse(attributes)
    return current.object
  }

  /**
   * Returns the object with one mutation applied, or why the mutation failed.
   * @throws ApiError when the request must fail even if the policy's failurePolicy is Ignore
   */
  function mutate(
    { inForce: { policy, compiled }, binding }: Found,
    {
      object,
      mutation,
      activation,
    }: { readonly object: KubeObject; readonly mutation: CompiledMutation; readonly activation: Activation },
  ): { readonly object: KubeObject } | { readonly why: string } {
    const began = clock.monotonic()
    const observe = (error: ReturnType<typeof errorType>): void =>
      metrics.mutated({
        policy: policy.metadata.name!,
        binding: binding.metadata.name!,
        error,
        seconds: (clock.monotonic() - began) / 1000,
      })
    try {
      const mutated = source.evaluating(policy, () => mutatedBy(mutation, compiled, object, activation))
      observe("no_error")
      return { object: mutated }
    } catch (err) {
      if (err instanceof Undecided) throw err
      const { message } = err as Error
      observe(errorType(message))
      if (err instanceof ApiError) throw err
      return { why: message }
    }
  }

  /** @throws Error with upstream's message when the mutation fails */
  function mutatedBy(
    { patchType, expression, compiled }: CompiledMutation,
    { variables }: CompiledMutations,
    object: KubeObject,
    activation: Activation,
  ): KubeObject {
    if (typeof compiled === "string") throw new Error(compiled)
    const budget = new Budget(POLICY_BUDGET)
    const { value, cost } = compiled.program.evaluate({
      ...activation,
      variables: new LazyVariables(variables, activation, budget),
    })
    budget.spend(cost)
    if (value instanceof CelError) throw new Error(`expression '${expression}' resulted in error: ${value.message}`)
    const kind = kindOf(object)
    if (patchType === "JSONPatch") return withOperations(kind, object, value)
    if (!isDescribed(kind))
      throw new Error(
        "error applying patch: failed to convert patch object to typed object: " +
          `no corresponding type for ${kind.group}/${kind.version}, Kind=${kind.kind}`,
      )
    return withConfiguration(kind, object, value)
  }

  /**
   * Upstream merges by the OpenAPI document of a group. The document does not describe kinds that are only bodies of
   * another group's subresources, such as Scale and Eviction.
   */
  const isDescribed = ({ group, version, kind }: Resource): boolean =>
    scheme.resources.some(
      (resource) => resource.kind === kind && resource.group === group && resource.version === version,
    )

  /** Returns the kind of the object; for a subresource such as `binding`, the kind of its body. */
  function kindOf({ apiVersion, kind }: KubeObject): Resource {
    const resource = scheme.of(apiVersion, kind)
    if (resource === undefined) throw new Error(`no kind ${JSON.stringify(kind)} is registered`)
    return resource
  }

  return {
    name: NAME,
    operations: ["CREATE", "UPDATE", "CONNECT"],
    mayReinvoke: () => source.all().length > 0,
    admit(attributes) {
      const policies = source.all()
      if (policies.length === 0 || isUnseenByPolicies(attributes)) return attributes.object
      // All invocations are found before the first one changes the object.
      const found = [...invocationsOf(attributes, policies)]
      return found.length === 0 ? attributes.object : admit(attributes, found)
    },
  }
}

const idOf = (policy: KubeObject, binding: KubeObject, params: KubeObject | undefined): string =>
  [policy.metadata.name, binding.metadata.name, params?.metadata.namespace, params?.metadata.name].join("/")
