import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { Objects } from "../../cacher/objects.ts"
import type { AdmissionAttributes } from "../admission.ts"
import { equivalentsIn, seenAs, type Seen } from "../webhooks/equivalents.ts"
import { matchedResource, type MatchCriteria } from "../webhooks/matching.ts"
import { collectParams, ConfigurationError, criteriaFor } from "./params.ts"
import type { Policy, PolicyBinding, PolicyInForce, PolicyLeftOut } from "./policy-source.ts"
import { isPending } from "../../call/maybe-promise.ts"

/** A binding whose policy matches a request and is evaluated once for each entry of `params`. */
export interface Invocation<P extends Policy, B extends PolicyBinding, Compiled> {
  readonly inForce: PolicyInForce<P, B, Compiled>
  readonly binding: B
  /** The resource that the policy matched: that of the request, or an equivalent one. */
  readonly resource: Resource
  /** The parameter objects; one undefined entry when the policy has no parameters. */
  readonly params: readonly (KubeObject | undefined)[]
}

/** A policy or binding that matches a request but cannot be evaluated as it is configured. */
export interface Misconfiguration<P extends Policy, B extends PolicyBinding> {
  readonly policy: P
  /** The binding with the fault; undefined when the policy has it. */
  readonly binding: B | undefined
  readonly why: string
}

/**
 * Resources that no policy applies to, since a wrong policy could otherwise not be removed, and clients could not check
 * their rights. Source: admission/exclusion.
 */
const UNSEEN: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io/mutatingadmissionpolicies",
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings",
  "authentication.k8s.io/selfsubjectreviews",
  "authentication.k8s.io/tokenreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
  "authorization.k8s.io/subjectaccessreviews",
])

export const isUnseenByPolicies = ({ resource: { group, plural } }: AdmissionAttributes): boolean =>
  UNSEEN.has(`${group}/${plural}`)

/**
 * Returns a function that finds the policies and bindings which match a request. Source:
 * policy/generic/policy_dispatcher.go Dispatch.
 */
export function invocationFinder({ scheme, objects }: { readonly scheme: Scheme; readonly objects: Objects }) {
  const equivalents = equivalentsIn(scheme)

  /**
   * @throws ConfigurationError when the criteria select namespaces by labels and the namespace of the request does not
   * exist
   */
  function matched(criteria: MatchCriteria, attributes: AdmissionAttributes): Resource | undefined {
    try {
      return matchedResource(criteria, attributes, objects, equivalents)
    } catch (err) {
      throw err instanceof ApiError ? new ConfigurationError(err.message) : err
    }
  }

  return function* invocationsOf<P extends Policy, B extends PolicyBinding, Compiled>(
    attributes: AdmissionAttributes,
    policies: readonly (PolicyInForce<P, B, Compiled> | PolicyLeftOut<P, B>)[],
  ): Generator<Invocation<P, B, Compiled> | Misconfiguration<P, B>> {
    for (const inForce of policies) {
      const { policy, bindings } = inForce
      const { matchConstraints, paramKind } = policy.spec
      if (matchConstraints === undefined) continue
      try {
        const resource = matched(criteriaFor(matchConstraints), attributes)
        if (resource === undefined) continue
        if (paramKind !== undefined && scheme.of(paramKind.apiVersion ?? "", paramKind.kind ?? "") === undefined)
          throw new ConfigurationError(
            `failed to find resource referenced by paramKind: '${paramKind.apiVersion ?? ""}, Kind=${paramKind.kind ?? ""}'`,
          )
        for (const binding of bindings) {
          const { matchResources, paramRef } = binding.spec
          try {
            if (matchResources !== undefined && matched(criteriaFor(matchResources), attributes) === undefined) continue
            if ("leftOut" in inForce) {
              yield { policy, binding, why: inForce.leftOut }
              continue
            }
            const params = collectParams(paramKind, paramRef, attributes.namespace ?? "", { scheme, objects })
            yield { inForce, binding, resource, params }
          } catch (err) {
            if (!(err instanceof ConfigurationError)) throw err
            yield { policy, binding, why: `failed to configure binding: ${err.message}` }
          }
        }
      } catch (err) {
        if (!(err instanceof ConfigurationError)) throw err
        yield { policy, binding: undefined, why: `failed to configure policy: ${err.message}` }
      }
    }
  }
}

/**
 * Converts the objects of a request to each matched resource. The entry of a resource is an error when its conversion
 * webhook failed.
 */
export function seenByAll(
  attributes: AdmissionAttributes,
  found: readonly ({ readonly resource: Resource } | { readonly why: string })[],
): ReadonlyMap<Resource, Seen | ConfigurationError> | Promise<ReadonlyMap<Resource, Seen | ConfigurationError>> {
  const resources = new Set(found.flatMap((each) => ("resource" in each ? [each.resource] : [])))
  const entries = Array.from(resources, (resource) => [resource, seenAs(attributes, resource)] as const)
  if (entries.every((entry): entry is readonly [Resource, Seen] => !isPending(entry[1]))) return new Map(entries)
  const settled = entries.map(async ([resource, seen]) => [resource, await orFault(seen)] as const)
  return Promise.all(settled).then((all) => new Map(all))
}

/** Returns the result of a conversion, or its failure as a ConfigurationError. */
export const orFault = async <T>(converted: T | Promise<T>): Promise<T | ConfigurationError> => {
  try {
    return await converted
  } catch (err) {
    if (err instanceof ApiError) return new ConfigurationError(err.message)
    throw err
  }
}
