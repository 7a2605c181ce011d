import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

/** Source: k8s.io/api core/v1/types.go. */

const SCOPES = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
  "VolumeAttributesClass",
] as const
export const QUOTA_SCOPES: readonly string[] = SCOPES

export const ScopedResourceSelectorRequirement = message(
  "core.v1.ScopedResourceSelectorRequirement",
  "One condition on the objects that a quota counts.",
  {
    scopeName: f
      .string(1, "The aspect that is looked at.")
      .required()
      .enum(...SCOPES)
      .ownRule(),
    operator: f
      .string(2, "How it is compared with the values.")
      .required()
      .enum("In", "NotIn", "Exists", "DoesNotExist")
      .ownRule(),
    values: f.list(3, e.string, "Values for In and NotIn; empty for the others.").atomic(),
  },
)
export interface ScopedResourceSelectorRequirement extends ObjectOf<typeof ScopedResourceSelectorRequirement> {}

export const ScopeSelector = message(
  "core.v1.ScopeSelector",
  "Which objects a quota counts; all conditions must hold.",
  {
    matchExpressions: f.list(1, ScopedResourceSelectorRequirement, "The conditions.").atomic(),
  },
  { mapType: "atomic" },
)
export interface ScopeSelector extends ObjectOf<typeof ScopeSelector> {}

export const ResourceQuotaSpec = message("core.v1.ResourceQuotaSpec", "The limits of a namespace.", {
  hard: f.map(1, e.quantity, "Most of each resource."),
  scopes: f
    .list(2, e.string, "Aspects that an object must have to be counted.")
    .atomic()
    .enum(...SCOPES)
    .ownRule(),
  scopeSelector: f.message(3, ScopeSelector, "Conditions that an object must meet to be counted."),
})
export interface ResourceQuotaSpec extends ObjectOf<typeof ResourceQuotaSpec> {}

export const ResourceQuotaStatus = message("core.v1.ResourceQuotaStatus", "The limits, and the current usage.", {
  hard: f.map(1, e.quantity, "Most of each resource, as enforced."),
  used: f.map(2, e.quantity, "How much of each resource is in use."),
})
export interface ResourceQuotaStatus extends ObjectOf<typeof ResourceQuotaStatus> {}
