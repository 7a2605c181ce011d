import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, required } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { PolicyRule, RBAC_GROUP, ruleFaults } from "./rules.ts"

export const AggregationRule = message(
  "rbac.v1.AggregationRule",
  "Selects the cluster roles whose rules are combined.",
  {
    clusterRoleSelectors: f
      .list(1, LabelSelector, "Cluster roles that any of these selects give their rules.")
      .atomic(),
  },
)
export interface AggregationRule extends ObjectOf<typeof AggregationRule> {}

const fields = {
  rules: f.list(2, PolicyRule, "Rules for every namespace and for cluster-wide objects.").atomic().orNull(),
  aggregationRule: f.message(3, AggregationRule, "When set, a controller fills the rules from other cluster roles."),
}
export interface ClusterRole extends ObjectFor<typeof fields> {}

export const ClusterRole = defineResource(
  {
    group: RBAC_GROUP,
    version: "v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A set of rules that bindings grant, in one namespace or everywhere.",
    validateName: isPathSegmentName,
    allowCreateOnUpdate: true,
    validate: ({ rules, aggregationRule }) => [
      ...ruleFaults("rules", rules ?? [], false),
      ...(aggregationRule === undefined ? [] : aggregationFaults(aggregationRule)),
    ],
  },
  fields,
)

function aggregationFaults({ clusterRoleSelectors = [] }: AggregationRule): readonly Cause[] {
  const path = "aggregationRule.clusterRoleSelectors"
  if (clusterRoleSelectors.length === 0)
    return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
  return clusterRoleSelectors.flatMap((selector, i) => {
    const faults = labelSelectorFaults(at(path, i), selector)
    // Upstream also converts it to a selector, and reports the selector that could not be converted.
    return faults.length === 0 ? faults : [...faults, invalidValue(at(path, i), null, "invalid label selector.")]
  })
}
