import { repeated } from "../../../../../apimachinery/validation/repeated.ts"
import type { Cause } from "../../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../../../../../apimachinery/validation/field-errors.ts"
import { labelSelectorFaults } from "../../../../../apimachinery/selectors/labelselector.ts"
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelValue,
  isQualifiedName,
  oneProblem,
} from "../../../../../apimachinery/validation/names.ts"
import type { LabelSelector } from "../../../../../apimachinery/meta.ts"
import type { Affinity, NodeSelector, NodeSelectorTerm, PodAffinityTerm } from "./affinity.ts"
import { checked } from "../../path-validation.ts"
import type { Toleration, TopologySpreadConstraint } from "./tolerations.ts"
import { pushAll } from "../../../../../lists/push-all.ts"

/**
 * Returns the faults of the fields that say where a pod may run. Source: validateAffinity, ValidateTolerations,
 * validateTopologySpreadConstraints in pkg/apis/core/validation/validation.go.
 */

export function validateAffinity({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity): readonly Cause[] {
  const causes: Cause[] = []
  const {
    requiredDuringSchedulingIgnoredDuringExecution: needed,
    preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
  } = nodeAffinity ?? {}
  if (needed !== undefined)
    pushAll(causes, validateNodeSelector(needed, at("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")))
  for (const [i, { weight, preference }] of preferred.entries()) {
    const here = at("nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", i)
    pushAll(causes, validateWeight(weight, here), validateNodeSelectorTerm(preference, at(here, "preference"), false))
  }
  for (const [name, group] of [
    ["podAffinity", podAffinity],
    ["podAntiAffinity", podAntiAffinity],
  ] as const) {
    for (const [i, term] of (group?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      pushAll(causes, validatePodAffinityTerm(term, at(name, "requiredDuringSchedulingIgnoredDuringExecution", i)))
    for (const [i, { weight, podAffinityTerm }] of (
      group?.preferredDuringSchedulingIgnoredDuringExecution ?? []
    ).entries()) {
      const here = at(name, "preferredDuringSchedulingIgnoredDuringExecution", i)
      pushAll(
        causes,
        validateWeight(weight, here),
        validatePodAffinityTerm(podAffinityTerm, at(here, "podAffinityTerm")),
      )
    }
  }
  return causes
}

const validateWeight = (weight: number, path: string): readonly Cause[] =>
  weight >= 1 && weight <= 100 ? [] : [invalidValue(at(path, "weight"), weight, "must be in the range 1-100")]

/** Returns the faults of a node selector that has at least one term. */
export function validateNodeSelector({ nodeSelectorTerms }: NodeSelector, path: string): readonly Cause[] {
  return nodeSelectorTerms.flatMap((term, i) => validateNodeSelectorTerm(term, at(path, "nodeSelectorTerms", i), true))
}

const OPERATORS: readonly string[] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
const NO_OPERATOR = "not a valid selector operator"

/** `strict`: whether values must be valid label values; in preferred terms they need not be. */
function validateNodeSelectorTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  path: string,
  strict: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  for (const [i, { key, operator, values = [] }] of matchExpressions.entries()) {
    const here = at(path, "matchExpressions", i)
    if (!OPERATORS.includes(operator)) causes.push(invalidValue(at(here, "operator"), operator, NO_OPERATOR))
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      causes.push(required(at(here, "values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      causes.push(
        forbiddenField(at(here, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      )
    if ((operator === "Gt" || operator === "Lt") && values.length !== 1)
      causes.push(required(at(here, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    pushAll(causes, checked(at(here, "key"), key, isQualifiedName))
    if (strict)
      pushAll(
        causes,
        values.flatMap((value, j) => checked(at(here, "values", j), value, isLabelValue)),
      )
  }
  for (const [i, { key, operator, values = [] }] of matchFields.entries()) {
    const here = at(path, "matchFields", i)
    if (operator !== "In" && operator !== "NotIn")
      causes.push(invalidValue(at(here, "operator"), operator, NO_OPERATOR))
    else if (values.length !== 1)
      causes.push(
        required(
          at(here, "values"),
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
      )
    if (key !== "metadata.name") causes.push(invalidValue(at(here, "key"), key, "not a valid field selector key"))
    else
      pushAll(
        causes,
        values.flatMap((value, j) => checked(at(here, "values", j), value, isDNS1123Subdomain)),
      )
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
  if (labelSelector !== undefined) pushAll(causes, labelSelectorFaults(at(path, "labelSelector"), labelSelector))
  if (namespaceSelector !== undefined)
    pushAll(causes, labelSelectorFaults(at(path, "namespaceSelector"), namespaceSelector))
  pushAll(
    causes,
    namespaces.flatMap((name) => checked(at(path, "namespace"), name, isDNS1123Label)),
  )
  pushAll(
    causes,
    validateLabelKeys(matchLabelKeys, labelSelector, at(path, "matchLabelKeys")),
    validateLabelKeys(mismatchLabelKeys, labelSelector, at(path, "mismatchLabelKeys")),
    selectedTwice(matchLabelKeys, labelSelector, path),
  )
  const mismatched = new Set(mismatchLabelKeys)
  for (const [i, key] of matchLabelKeys.entries())
    if (mismatched.has(key))
      causes.push(
        invalidValue(at(path, "matchLabelKeys", i), key, "exists in both matchLabelKeys and mismatchLabelKeys"),
      )
  if (topologyKey === "") causes.push(required(at(path, "topologyKey"), "can not be empty"))
  pushAll(causes, checked(at(path, "topologyKey"), topologyKey, isQualifiedName))
  return causes
}

/**
 * The server copies the values of matchLabelKeys into the selector, so a selector that contains such a key itself would
 * have it twice.
 */
function selectedTwice(
  matchLabelKeys: readonly string[],
  { matchLabels = {}, matchExpressions = [] }: LabelSelector = {},
  path: string,
): readonly Cause[] {
  if (matchLabelKeys.length === 0) return []
  const seen = new Set(Object.keys(matchLabels))
  const places = new Map(matchLabelKeys.map((key, i) => [key, i]))
  return matchExpressions.flatMap(({ key }) => {
    const again = seen.has(key) && places.has(key)
    seen.add(key)
    // Upstream leaves the list out of the path.
    return again
      ? [invalidValue(at(path, places.get(key)!), key, "exists in both matchLabelKeys and labelSelector")]
      : []
  })
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

/** Refuses operators that compare numbers, because their feature gate is off in Kubernetes 1.36. */
export function validateToleration({
  key = "",
  operator = "",
  value = "",
  effect = "",
  tolerationSeconds,
}: ReadToleration): readonly Cause[] {
  const causes: Cause[] = key === "" ? [] : [...checked("key", key, isQualifiedName)]
  if (key === "" && operator !== "Exists")
    causes.push(
      invalidValue(
        "operator",
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    )
  if (tolerationSeconds !== undefined && effect !== "NoExecute")
    causes.push(invalidValue("effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
  if (operator === "" || operator === "Equal") {
    const wrong = isLabelValue(value)
    if (wrong !== undefined) causes.push(invalidValue("operator", value, oneProblem(wrong, ";")))
  } else if (operator === "Exists") {
    if (value !== "") causes.push(invalidValue("operator", value, "value must be empty when `operator` is 'Exists'"))
  } else
    causes.push(
      notSupported("operator", operator, [
        "Equal",
        "Exists",
        ...(operator === "Lt" || operator === "Gt" ? ["Lt", "Gt"] : []),
      ]),
    )
  return causes
}
/** A toleration whose operator and effect may be any text. */
type ReadToleration = Omit<Toleration, "operator" | "effect"> & {
  readonly operator?: string | undefined
  readonly effect?: string | undefined
}

const ACTIONS: readonly string[] = ["DoNotSchedule", "ScheduleAnyway"]

export function validateTopologySpread(constraints: readonly TopologySpreadConstraint[]): readonly Cause[] {
  // If several apply, the last one counts.
  const again = repeated(constraints.toReversed(), ({ topologyKey, whenUnsatisfiable }) =>
    JSON.stringify([topologyKey, whenUnsatisfiable]),
  )
  return constraints.flatMap(
    ({ maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector, matchLabelKeys = [] }, i) => {
      const here = at("", i)
      const causes: Cause[] = []
      if (maxSkew <= 0) causes.push(invalidValue(at(here, "maxSkew"), maxSkew, "must be greater than zero"))
      if (!ACTIONS.includes(whenUnsatisfiable))
        causes.push(notSupported(at(here, "whenUnsatisfiable"), whenUnsatisfiable, ACTIONS))
      if (again.has(constraints.length - 1 - i))
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
      pushAll(
        causes,
        validateLabelKeys(matchLabelKeys, labelSelector, at(here, "matchLabelKeys")),
        selectedTwice(matchLabelKeys, labelSelector, here),
      )
      if (labelSelector !== undefined) pushAll(causes, labelSelectorFaults(at(here, "labelSelector"), labelSelector))
      return causes
    },
  )
}
