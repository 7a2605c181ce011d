import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, forbiddenField, invalidValue, required } from "../../../apimachinery/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/labelselector.ts"
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelValue,
  isQualifiedName,
  oneProblem,
} from "../../../apimachinery/names.ts"
import type { LabelSelector } from "../../../apimachinery/meta.ts"
import type { Affinity, NodeSelector, NodeSelectorTerm, PodAffinityTerm } from "./affinity.ts"
import { checked } from "./path-validation.ts"
import type { Toleration, TopologySpreadConstraint } from "./tolerations.ts"

/** Rules of where a pod may run. Source: validateAffinity, ValidateTolerations, validateTopologySpreadConstraints in pkg/apis/core/validation/validation.go. */

export function validateAffinity({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity): readonly Cause[] {
  const causes: Cause[] = []
  const {
    requiredDuringSchedulingIgnoredDuringExecution: needed,
    preferredDuringSchedulingIgnoredDuringExecution: wished = [],
  } = nodeAffinity ?? {}
  if (needed !== undefined)
    causes.push(...validateNodeSelector(needed, at("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")))
  for (const [i, { weight, preference }] of wished.entries()) {
    const here = at("nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", i)
    causes.push(...validateWeight(weight, here), ...validateNodeSelectorTerm(preference, at(here, "preference"), false))
  }
  for (const [name, group] of [
    ["podAffinity", podAffinity],
    ["podAntiAffinity", podAntiAffinity],
  ] as const) {
    for (const [i, term] of (group?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      causes.push(...validatePodAffinityTerm(term, at(name, "requiredDuringSchedulingIgnoredDuringExecution", i)))
    for (const [i, { weight, podAffinityTerm }] of (
      group?.preferredDuringSchedulingIgnoredDuringExecution ?? []
    ).entries()) {
      const here = at(name, "preferredDuringSchedulingIgnoredDuringExecution", i)
      causes.push(
        ...validateWeight(weight, here),
        ...validatePodAffinityTerm(podAffinityTerm, at(here, "podAffinityTerm")),
      )
    }
  }
  return causes
}

const validateWeight = (weight: number, path: string): readonly Cause[] =>
  weight >= 1 && weight <= 100 ? [] : [invalidValue(at(path, "weight"), weight, "must be in the range 1-100")]

function validateNodeSelector({ nodeSelectorTerms }: NodeSelector, path: string): readonly Cause[] {
  return nodeSelectorTerms.flatMap((term, i) => validateNodeSelectorTerm(term, at(path, "nodeSelectorTerms", i), true))
}

/** `strict`: whether values have to be possible label values; in mere wishes they need not. */
function validateNodeSelectorTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  path: string,
  strict: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  for (const [i, { key, operator, values = [] }] of matchExpressions.entries()) {
    const here = at(path, "matchExpressions", i)
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      causes.push(required(at(here, "values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      causes.push(
        forbiddenField(at(here, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      )
    if ((operator === "Gt" || operator === "Lt") && values.length !== 1)
      causes.push(required(at(here, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    causes.push(...checked(at(here, "key"), key, isQualifiedName))
    if (strict) causes.push(...values.flatMap((value, j) => checked(at(here, "values", j), value, isLabelValue)))
  }
  for (const [i, { key, operator, values = [] }] of matchFields.entries()) {
    const here = at(path, "matchFields", i)
    if (operator !== "In" && operator !== "NotIn")
      causes.push(invalidValue(at(here, "operator"), operator, "not a valid selector operator"))
    else if (values.length !== 1)
      causes.push(
        required(
          at(here, "values"),
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
      )
    if (key !== "metadata.name") causes.push(invalidValue(at(here, "key"), key, "not a valid field selector key"))
    else causes.push(...values.flatMap((value, j) => checked(at(here, "values", j), value, isDNS1123Subdomain)))
  }
  return causes
}

function validatePodAffinityTerm(term: PodAffinityTerm, path: string): readonly Cause[] {
  const {
    labelSelector,
    namespaceSelector,
    namespaces = [],
    topologyKey,
    matchLabelKeys = [],
    mismatchLabelKeys = [],
  } = term
  const causes: Cause[] = []
  if (labelSelector !== undefined) causes.push(...labelSelectorFaults(at(path, "labelSelector"), labelSelector))
  if (namespaceSelector !== undefined)
    causes.push(...labelSelectorFaults(at(path, "namespaceSelector"), namespaceSelector))
  causes.push(...namespaces.flatMap((name) => checked(at(path, "namespace"), name, isDNS1123Label)))
  causes.push(
    ...validateLabelKeys(matchLabelKeys, labelSelector, at(path, "matchLabelKeys")),
    ...validateLabelKeys(mismatchLabelKeys, labelSelector, at(path, "mismatchLabelKeys")),
  )
  for (const [i, key] of matchLabelKeys.entries())
    if (mismatchLabelKeys.includes(key))
      causes.push(
        invalidValue(at(path, "matchLabelKeys", i), key, "exists in both matchLabelKeys and mismatchLabelKeys"),
      )
  causes.push(...checked(at(path, "topologyKey"), topologyKey, isQualifiedName))
  return causes
}

function validateLabelKeys(
  keys: readonly string[],
  selector: LabelSelector | undefined,
  path: string,
): readonly Cause[] {
  if (keys.length > 0 && selector === undefined)
    return [forbiddenField(path, "must not be specified when labelSelector is not set")]
  return keys.flatMap((key, i) => checked(at(path, i), key, isQualifiedName))
}

export function validateToleration({
  key = "",
  operator = "Equal",
  value = "",
  effect,
  tolerationSeconds,
}: Toleration): readonly Cause[] {
  const causes: Cause[] = key === "" ? [] : [...checked("key", key, isQualifiedName)]
  if (key === "" && operator !== "Exists")
    causes.push(
      invalidValue(
        "operator",
        operator === "Equal" ? "" : operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    )
  if (tolerationSeconds !== undefined && effect !== "NoExecute")
    causes.push(invalidValue("effect", effect ?? "", "effect must be 'NoExecute' when `tolerationSeconds` is set"))
  const wrongValue = operator === "Equal" ? isLabelValue(value) : undefined
  if (wrongValue !== undefined) causes.push(invalidValue("operator", value, oneProblem(wrongValue, ";")))
  if (operator === "Exists" && value !== "")
    causes.push(invalidValue("operator", value, "value must be empty when `operator` is 'Exists'"))
  if ((operator === "Lt" || operator === "Gt") && !/^(0|-?[1-9][0-9]*)$/.test(value))
    causes.push(invalidValue("value", value, "must be a valid decimal integer in canonical form"))
  return causes
}

export function validateTopologySpread(constraints: readonly TopologySpreadConstraint[]): readonly Cause[] {
  return constraints.flatMap(
    ({ maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector, matchLabelKeys = [] }, i) => {
      const here = at("", i)
      const causes: Cause[] = []
      if (maxSkew <= 0) causes.push(invalidValue(at(here, "maxSkew"), maxSkew, "must be greater than zero"))
      causes.push(...checked(at(here, "topologyKey"), topologyKey, isQualifiedName))
      if (
        constraints
          .slice(i + 1)
          .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable)
      )
        causes.push(duplicate(at(here, "{topologyKey, whenUnsatisfiable}"), `{${topologyKey}, ${whenUnsatisfiable}}`))
      if (minDomains !== undefined && minDomains <= 0)
        causes.push(invalidValue(at(here, "minDomains"), minDomains, "must be greater than zero"))
      if (minDomains !== undefined && whenUnsatisfiable !== "DoNotSchedule")
        causes.push(
          invalidValue(
            at(here, "minDomains"),
            minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
          ),
        )
      causes.push(...validateLabelKeys(matchLabelKeys, labelSelector, at(here, "matchLabelKeys")))
      if (labelSelector !== undefined) causes.push(...labelSelectorFaults(at(here, "labelSelector"), labelSelector))
      return causes
    },
  )
}
