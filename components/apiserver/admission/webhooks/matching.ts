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

/**
 * The resource as which a webhook is asked about a request: the one of the request, or an equivalent one that a rule
 * names; undefined where the webhook is not asked at all.
 * @throws ApiError NotFound where the webhook selects namespaces by labels and the one of the request is not there.
 * Source: webhook/generic/webhook.go ShouldCallHook.
 */
export function matchedResource(
  webhook: Webhook,
  attributes: AdmissionAttributes,
  objects: Objects,
  equivalents: (resource: Resource) => readonly Resource[],
): Resource | undefined {
  const { rules = [], matchPolicy, objectSelector, namespaceSelector } = webhook
  const { resource, object, old } = attributes
  const wanted = (candidate: Resource) => rules.some((rule) => ruleMatches(rule, candidate, attributes))
  const matched = wanted(resource)
    ? resource
    : matchPolicy === "Equivalent"
      ? equivalents(resource).find(wanted)
      : undefined
  if (matched === undefined) return undefined
  if (!selects(objectSelector, object) && !selects(objectSelector, old)) return undefined
  return namespaceMatches(namespaceSelector, attributes, objects) ? matched : undefined
}

/** Source: predicates/rules/rules.go. */
export function ruleMatches(
  { operations = [], apiGroups = [], apiVersions = [], resources = [], scope }: RuleWithOperations,
  resource: Resource,
  { operation, subresource = "", namespace }: Pick<AdmissionAttributes, "operation" | "subresource" | "namespace">,
): boolean {
  const isClusterWide = resource.scope === "Cluster" || (namespace ?? "") === ""
  return (
    (scope === "*" || (scope === "Cluster") === isClusterWide) &&
    holds(operations, operation) &&
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
