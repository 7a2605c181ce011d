import { isNamespaceResource, Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import type { RuleWithOperations } from "../../../../pkg/api/admissionregistration/v1/rules.ts"
import type { Webhook } from "../../../../pkg/api/admissionregistration/v1/webhook.ts"
import { notFound } from "../../../../pkg/apimachinery/errors.ts"
import { fromLabelSelector } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Objects } from "../../cacher/objects.ts"
import type { AdmissionAttributes } from "../admission.ts"

/** No webhook is called for changes of this group, since a wrong webhook could otherwise not be removed. */
const EXEMPT_GROUP = "admissionregistration.k8s.io"

/** Whether webhooks are not called for the request. Source: predicates/rules IsExemptAdmissionConfigurationResource. */
export const isExemptFromWebhooks = ({ resource }: AdmissionAttributes): boolean => resource.group === EXEMPT_GROUP

/** Which requests a webhook or a policy matches. */
export interface MatchCriteria {
  readonly rules: readonly MatchRule[]
  /** Requests that do not match even if `rules` match them. */
  readonly excluded?: readonly MatchRule[]
  readonly matchPolicy: string
  readonly objectSelector: LabelSelector
  readonly namespaceSelector: LabelSelector
}
type MatchRule = RuleWithOperations & { readonly resourceNames?: readonly string[] | undefined }

/**
 * Returns the resource under which a webhook or a policy matches a request: that of the request, or with matchPolicy
 * Equivalent an equivalent one that a rule names; undefined when it does not match.
 * @throws ApiError NotFound when namespaces are selected by labels and the namespace of the request does not exist.
 * Source: webhook/generic/webhook.go ShouldCallHook, policy/matching/matching.go.
 */
export function matchedResource(
  { rules, excluded = [], matchPolicy, objectSelector, namespaceSelector }: MatchCriteria,
  attributes: AdmissionAttributes,
  objects: Objects,
  equivalents: (resource: Resource) => readonly Resource[],
): Resource | undefined {
  const { resource, object, old } = attributes
  const found = (candidates: readonly MatchRule[]): Resource | undefined => {
    const wanted = (candidate: Resource) => candidates.some((rule) => ruleMatches(rule, candidate, attributes))
    if (wanted(resource)) return resource
    return matchPolicy === "Equivalent" ? equivalents(resource).find(wanted) : undefined
  }
  const matched = found(rules)
  if (matched === undefined || found(excluded) !== undefined) return undefined
  if (!selects(objectSelector, object) && !selects(objectSelector, old)) return undefined
  return namespaceMatches(namespaceSelector, attributes, objects) ? matched : undefined
}

/** Returns the match criteria of a webhook. */
export const criteriaOf = ({ rules = [], matchPolicy, objectSelector, namespaceSelector }: Webhook): MatchCriteria => ({
  rules,
  matchPolicy,
  objectSelector,
  namespaceSelector,
})

/** Whether a rule matches a request, seen as one for `resource`. Source: predicates/rules/rules.go. */
export function ruleMatches(
  { operations = [], apiGroups = [], apiVersions = [], resources = [], resourceNames = [], scope }: MatchRule,
  resource: Resource,
  { operation, subresource = "", namespace, name }: AdmissionAttributes,
): boolean {
  const isClusterWide = resource.scope === "Cluster" || (namespace ?? "") === ""
  return (
    (scope === "*" || (scope === "Cluster") === isClusterWide) &&
    holds(operations, operation) &&
    (resourceNames.length === 0 || resourceNames.includes(name)) &&
    holds(apiGroups, resource.group) &&
    holds(apiVersions, resource.version) &&
    resources.some((pattern) => {
      const [plural = "", sub = ""] = pattern.split("/", 2)
      return (plural === "*" || plural === resource.plural) && (sub === "*" || sub === subresource)
    })
  )
}

const holds = (values: readonly string[], wanted: string): boolean => values.includes("*") || values.includes(wanted)

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  matchExpressions.length === 0 && Object.keys(matchLabels).length === 0

const selects = (selector: LabelSelector, object: KubeObject | undefined): boolean =>
  isEmpty(selector) || (object !== undefined && fromLabelSelector(selector).matches(object.metadata?.labels ?? {}))

/** Whether the namespace of the request has the labels that are selected. Source: predicates/namespace/matcher.go. */
function namespaceMatches(selector: LabelSelector, attributes: AdmissionAttributes, objects: Objects): boolean {
  const { resource, subresource, operation, object, name } = attributes
  const isNamespace = isNamespaceResource(resource)
  const namespace = isNamespace ? name : (attributes.namespace ?? "")
  if (isEmpty(selector) || (namespace === "" && !isNamespace)) return true
  const matcher = fromLabelSelector(selector)
  // The store does not have the labels yet that are being written, so those of the request count.
  if (isNamespace && subresource === undefined && (operation === "CREATE" || operation === "UPDATE"))
    return matcher.matches(object?.metadata.labels ?? {})
  const found = objects.get(Namespace, { name: namespace })
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace)
  return matcher.matches(found.metadata.labels ?? {})
}
