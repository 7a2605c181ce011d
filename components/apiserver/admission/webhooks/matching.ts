import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import type { RuleWithOperations } from "../../../../pkg/api/admissionregistration/v1/rules.ts"
import type { Webhook } from "../../../../pkg/api/admissionregistration/v1/webhook.ts"
import { notFound } from "../../../../pkg/apimachinery/errors.ts"
import { fromLabelSelector } from "../../../../pkg/apimachinery/labels.ts"
import type { LabelSelector } from "../../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Objects } from "../../cacher/objects.ts"
import type { AdmissionAttributes } from "../admission.ts"

/** Kinds whose changes no webhook is asked about: a wrong webhook could otherwise not be taken away. */
const EXEMPT_GROUP = "admissionregistration.k8s.io"

/** Source: predicates/rules IsExemptAdmissionConfigurationResource. */
export const isExemptFromWebhooks = ({ resource }: AdmissionAttributes): boolean => resource.group === EXEMPT_GROUP

/** Which requests a webhook or a policy is for. */
export interface MatchCriteria {
  readonly rules: readonly MatchRule[]
  /** Requests that are left out even so. */
  readonly excluded?: readonly MatchRule[]
  readonly matchPolicy: string
  readonly objectSelector: LabelSelector
  readonly namespaceSelector: LabelSelector
}
type MatchRule = RuleWithOperations & { readonly resourceNames?: readonly string[] | undefined }

/**
 * The resource as which a webhook or a policy sees a request: the one of the request, or an equivalent one that a rule
 * names; undefined where the request is none of its.
 * @throws ApiError NotFound where namespaces are selected by labels and the one of the request is not there. Source:
 * webhook/generic/webhook.go ShouldCallHook, policy/matching/matching.go.
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

/** The criteria of a webhook. */
export const criteriaOf = ({ rules = [], matchPolicy, objectSelector, namespaceSelector }: Webhook): MatchCriteria => ({
  rules,
  matchPolicy,
  objectSelector,
  namespaceSelector,
})

/** Source: predicates/rules/rules.go. */
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

/** Source: predicates/namespace/matcher.go. */
function namespaceMatches(selector: LabelSelector, attributes: AdmissionAttributes, objects: Objects): boolean {
  const { resource, subresource, operation, object, name } = attributes
  const isNamespace = resource.group === "" && resource.plural === "namespaces"
  const namespace = isNamespace ? name : (attributes.namespace ?? "")
  if (isEmpty(selector) || (namespace === "" && !isNamespace)) return true
  const matcher = fromLabelSelector(selector)
  // A Namespace that is being written is not in the store as it will be.
  if (isNamespace && subresource === undefined && (operation === "CREATE" || operation === "UPDATE"))
    return matcher.matches(object?.metadata.labels ?? {})
  const found = objects.get(Namespace, { name: namespace })
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace)
  return matcher.matches(found.metadata.labels ?? {})
}
