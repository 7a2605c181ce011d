import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, atKey, invalidValue, required, within } from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import { compareQuantities, quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { amountFaults, isQuotaResource, quotaResourceNameFaults } from "../resources/resource-names.ts"
import { QUOTA_SCOPES, ScopeSelector, type ResourceQuotaSpec, type ResourceQuotaStatus } from "./resourcequotaspec.ts"

/** Validates quotas. Source: ValidateResourceQuota in pkg/apis/core/validation/validation.go. */

const COMPUTE = ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]
/** For each scope the resources that a quota with the scope may count. */
const RESOURCES: Readonly<Record<string, readonly string[]>> = {
  Terminating: COMPUTE,
  NotTerminating: COMPUTE,
  NotBestEffort: COMPUTE,
  PriorityClass: COMPUTE,
  CrossNamespacePodAffinity: COMPUTE,
  BestEffort: ["pods"],
  VolumeAttributesClass: ["persistentvolumeclaims", "requests.storage"],
}
const WITH_VALUES = ["PriorityClass", "VolumeAttributesClass"]
const OPPOSITES = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const

export const quotaFaults = (spec: ResourceQuotaSpec): readonly Cause[] => [
  ...amountsFaults(spec.hard, "spec.hard"),
  ...scopesFaults(spec),
  ...selectorFaults(spec),
]

export const quotaStatusFaults = ({ hard, used }: ResourceQuotaStatus): readonly Cause[] => [
  ...amountsFaults(hard, "status.hard"),
  ...amountsFaults(used, "status.used"),
]

export function scopesAreFixed({ scopes = [] }: ResourceQuotaSpec, old: ResourceQuotaSpec): readonly Cause[] {
  const [now, before] = [new Set<string>(scopes), new Set<string>(old.scopes)]
  return now.size === before.size && [...now].every((scope) => before.has(scope))
    ? []
    : [invalidValue("spec.scopes", scopes.length === 0 ? null : scopes, "field is immutable")]
}

function amountsFaults(amounts: Readonly<Record<string, string>> | undefined, path: string): readonly Cause[] {
  const causes: Cause[] = []
  for (const name in amounts) {
    const ofName = quotaResourceNameFaults(name)
    const ofAmount = amountFaults(name, amounts[name]!)
    if (ofName.length + ofAmount.length === 0) continue
    within(causes, ofName, atKey(path, name))
    within(causes, ofAmount, atKey(path, name))
  }
  return causes
}

/**
 * Returns a function that returns the resources of a quota that may not be counted with a scope. Each scope is compared
 * with all resources once, however often a quota names it.
 */
function misfitsOf(hard: ResourceQuotaSpec["hard"] = {}): (scope: string) => readonly string[] {
  const known = new Map<string, readonly string[]>()
  return (scope) => {
    const allowed = RESOURCES[scope]
    if (allowed === undefined) return []
    let found = known.get(scope)
    if (found === undefined) {
      found = Object.keys(hard).filter((name) => isQuotaResource(name) && !allowed.includes(name))
      known.set(scope, found)
    }
    return found
  }
}

/**
 * Returns a function that makes faults which quote a whole value. Each is made once, however many items have it: their
 * texts together would grow with the square of the value.
 */
function quoting(field: string, value: () => unknown): (why: string) => Cause {
  const known = new Map<string, Cause>()
  return (why) => {
    let made = known.get(why)
    if (made === undefined) known.set(why, (made = invalidValue(field, value(), why)))
    return made
  }
}

function scopesFaults({ hard, scopes = [] }: ResourceQuotaSpec): readonly Cause[] {
  const wrong = quoting("spec.scopes", () => scopes)
  const misfits = misfitsOf(hard)
  return [
    ...scopes.flatMap((scope) => [
      ...(QUOTA_SCOPES.includes(scope) ? [] : [wrong("unsupported scope")]),
      ...misfits(scope).map(() => wrong("unsupported scope applied to resource")),
    ]),
    ...conflicts(scopes).map(() => wrong("conflicting scopes")),
  ]
}

const conflicts = (scopes: readonly string[]) =>
  OPPOSITES.filter((pair) => pair.every((scope) => scopes.some((each) => each === scope)))

/** Upstream does not say which of the conditions is wrong. */
function selectorFaults({ hard, scopes = [], scopeSelector }: ResourceQuotaSpec): readonly Cause[] {
  const conditions = scopeSelector?.matchExpressions ?? []
  const path = "spec.scopeSelector.matchExpressions"
  const causes: Cause[] = []
  const misfits = misfitsOf(hard)
  const wrong = (field: string, value: unknown, why: string) => void causes.push(invalidValue(field, value, why))
  const wrongAsWhole = quoting(path, () => goForm(ScopeSelector, scopeSelector!))
  for (const { scopeName, operator, values = [] } of conditions) {
    if (!QUOTA_SCOPES.includes(scopeName)) wrong(at(path, "scopeName"), scopeName, "unsupported scope")
    for (const _ of misfits(scopeName)) causes.push(wrongAsWhole("unsupported scope applied to resource"))
    if (RESOURCES[scopeName] !== undefined && !WITH_VALUES.includes(scopeName) && operator !== "Exists")
      wrong(
        at(path, "operator"),
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      )
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0)
        causes.push(
          required(
            at(path, "values"),
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        )
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0)
        wrong(
          at(path, "values"),
          values,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        )
    } else wrong(at(path, "operator"), operator, "not a valid selector operator")
  }
  for (const _ of conflicts(conditions.map(({ scopeName }) => scopeName))) wrong(path, scopes, "conflicting scopes")
  return causes
}

/** Resources for which a quota may limit requests and limits separately. */
const OVERCOMMITTED = ["cpu", "memory", "storage", "ephemeral-storage"]

/** Returns warnings about requests that are higher than limits. Source: pkg/registry/core/resourcequota/strategy.go. */
export const quotaWarnings = ({ hard = {} }: ResourceQuotaSpec): readonly string[] =>
  OVERCOMMITTED.flatMap((name) => {
    const isShort = hard[`requests.${name}`] === undefined && (name === "cpu" || name === "memory")
    const [request, limit] = [isShort ? name : `requests.${name}`, `limits.${name}`]
    const [asked, most] = [hard[request], hard[limit]]
    return asked === undefined || most === undefined || compareQuantities(quantity(asked), quantity(most)) <= 0
      ? []
      : [`ResourceQuota ${request} (${asked}) should be less than ${limit} (${most})`]
  })
