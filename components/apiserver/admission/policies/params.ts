import type {
  MatchResources,
  ParamKind,
  ParamRef,
} from "../../../../pkg/api/admissionregistration/v1/matchresources.ts"
import { fromLabelSelector } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { Objects } from "../../cacher/objects.ts"
import type { MatchCriteria } from "../webhooks/matching.ts"

/** A policy or binding cannot be evaluated as it is configured. */
export class ConfigurationError extends Error {}

const NO_PARAMS: readonly undefined[] = [undefined]

/**
 * Returns the parameter objects for a request in a namespace; one undefined entry when the policy has no parameters.
 * @throws ConfigurationError. Source: policy/generic/policy_dispatcher.go CollectParams.
 */
export function collectParams(
  kind: ParamKind | undefined,
  ref: ParamRef | undefined,
  namespace: string,
  { scheme, objects }: { readonly scheme: Scheme; readonly objects: Objects },
): readonly (KubeObject | undefined)[] {
  if (kind === undefined || ref === undefined) return NO_PARAMS
  const resource = scheme.of(kind.apiVersion ?? "", kind.kind ?? "")
  if (resource === undefined) return NO_PARAMS
  const found = paramsOf(resource, ref, namespace, objects)
  if (found.length === 0 && ref.parameterNotFoundAction === "Deny")
    throw new ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
  return found
}

function paramsOf(
  resource: Resource,
  { name = "", namespace: wanted = "", selector }: ParamRef,
  requested: string,
  objects: Objects,
): readonly KubeObject[] {
  const isNamespaced = resource.scope === "Namespaced"
  if (!isNamespaced && wanted !== "")
    throw new ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
  const namespace = isNamespaced ? wanted || requested : undefined
  if (namespace === "")
    throw new ConfigurationError(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    )
  if (name !== "") {
    const found = objects.get(resource, { name, namespace })
    return found === undefined ? [] : [found]
  }
  const matcher = fromLabelSelector(selector)
  return objects.list(resource, namespace).filter(({ metadata }) => matcher.matches(metadata.labels ?? {}))
}

/** Returns the match criteria of a policy or a binding. Without rules, every request matches. */
export const criteriaFor = (match: MatchResources): MatchCriteria => ({
  rules: (match.resourceRules ?? []).length === 0 ? EVERYTHING : match.resourceRules!,
  excluded: match.excludeResourceRules ?? [],
  matchPolicy: match.matchPolicy,
  objectSelector: match.objectSelector,
  namespaceSelector: match.namespaceSelector,
})
const EVERYTHING: MatchCriteria["rules"] = [
  { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: "*" },
]
