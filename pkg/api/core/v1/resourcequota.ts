import type { Cause } from "../../../apimachinery/errors.ts"
import { at, atKey, invalidValue, invalidValues, required } from "../../../apimachinery/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isQualifiedName } from "../../../apimachinery/names.ts"
import { quantity } from "../../../apimachinery/quantity.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api core/v1/types.go, pkg/registry/core/resourcequota/strategy.go, ValidateResourceQuota in pkg/apis/core/validation. */

const SCOPES = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
  "VolumeAttributesClass",
] as const

export const ScopedResourceSelectorRequirement = message(
  "core.v1.ScopedResourceSelectorRequirement",
  "One condition on the objects that a quota counts.",
  {
    scopeName: f
      .string(1, "The aspect that is looked at.")
      .required()
      .enum(...SCOPES),
    operator: f
      .string(2, "How it is compared with the values.")
      .required()
      .enum("In", "NotIn", "Exists", "DoesNotExist"),
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
    .enum(...SCOPES),
  scopeSelector: f.message(3, ScopeSelector, "Conditions that an object must meet to be counted."),
})
export interface ResourceQuotaSpec extends ObjectOf<typeof ResourceQuotaSpec> {}

export const ResourceQuotaStatus = message("core.v1.ResourceQuotaStatus", "What of the limits is used.", {
  hard: f.map(1, e.quantity, "Most of each resource, as enforced."),
  used: f.map(2, e.quantity, "How much of each resource is in use."),
})
export interface ResourceQuotaStatus extends ObjectOf<typeof ResourceQuotaStatus> {}

const fields = {
  spec: f.message(2, ResourceQuotaSpec, "The limits.").always(),
  status: f.message(3, ResourceQuotaStatus, "What is used.").always(),
}
export interface ResourceQuota extends ObjectFor<typeof fields> {}

export const ResourceQuota = defineResource(
  {
    group: "",
    version: "v1",
    kind: "ResourceQuota",
    plural: "resourcequotas",
    shortNames: ["quota"],
    scope: "Namespaced",
    doc: "Limits of what all objects in a namespace may use together.",
    subresources: { status: true },
    columns: [
      {
        name: "Request",
        type: "string",
        doc: "Used and most requests.",
        value: (quota) => usageText(quota, (name) => !name.startsWith("limits.")),
      },
      {
        name: "Limit",
        type: "string",
        doc: "Used and most limits.",
        value: (quota) => usageText(quota, (name) => name.startsWith("limits.")),
      },
    ],
    returnsDeletedObject: true,
    validate: ({ spec }) => [...amountFaults("spec.hard", spec.hard ?? {}), ...scopeFaults(spec)],
    validateUpdate: ({ spec }, old) => [
      ...(text(spec.scopes) === text(old.spec.scopes)
        ? []
        : [invalidValue("spec.scopes", spec.scopes ?? [], "field is immutable")]),
      ...(JSON.stringify(spec.scopeSelector) === JSON.stringify(old.spec.scopeSelector)
        ? []
        : [invalidValue("spec.scopeSelector", spec.scopeSelector, "field is immutable")]),
    ],
  },
  fields,
)

const text = (list: readonly string[] = []): string => [...list].sort().join(",")

const amountFaults = (path: string, amounts: Readonly<Record<string, string>>): readonly Cause[] =>
  Object.entries(amounts).flatMap(([name, amount]) => {
    const field = atKey(path, name)
    const wrong = isQualifiedName(name)
    if (wrong !== undefined) return invalidValues(field, name, wrong)
    return quantity(amount).nano < 0n ? [invalidValue(field, amount, "must be greater than or equal to 0")] : []
  })

function scopeFaults({ scopes = [], scopeSelector }: ResourceQuotaSpec): readonly Cause[] {
  const causes: Cause[] = []
  const clash = (a: string, b: string) => scopes.some((scope) => scope === a) && scopes.some((scope) => scope === b)
  if (clash("BestEffort", "NotBestEffort") || clash("Terminating", "NotTerminating"))
    causes.push(invalidValue("spec.scopes", scopes, "conflicting scopes"))
  for (const [i, { scopeName, operator, values = [] }] of (scopeSelector?.matchExpressions ?? []).entries()) {
    const here = at("spec.scopeSelector.matchExpressions", i)
    const exact = scopeName !== "PriorityClass" && scopeName !== "VolumeAttributesClass"
    if (exact && operator !== "Exists")
      causes.push(
        invalidValue(
          at(here, "operator"),
          operator,
          `must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
        ),
      )
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      causes.push(
        required(
          at(here, "values"),
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        ),
      )
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      causes.push(
        invalidValue(
          at(here, "values"),
          values,
          "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
        ),
      )
  }
  return causes
}

function usageText({ status }: ResourceQuota, wanted: (name: string) => boolean): string {
  const { hard = {}, used = {} } = status
  return Object.keys(hard)
    .filter(wanted)
    .sort()
    .map((name) => `${name}: ${used[name] ?? "0"}/${hard[name]}`)
    .join(", ")
}
