import { isLabelValue } from "../../../../apimachinery/validation/names.ts"
import type { LabelSelector } from "../../../../apimachinery/meta.ts"
import type { NodeSelectorTerm } from "../pod/scheduling/affinity.ts"

/** Deprecated node labels. Source: pkg/api/node/util.go. */
const DEPRECATED: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  ["scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
])

/** Returns the warning about a node label; undefined when it is not deprecated. */
export const deprecationOf = (label: string): string | undefined => DEPRECATED.get(label)

/** `ofValues`: whether there are also warnings about invalid label values. */
export function termWarnings(
  path: string,
  { matchExpressions = [] }: NodeSelectorTerm,
  ofValues: boolean,
): readonly string[] {
  const warnings: string[] = []
  for (const [i, { key, values = [] }] of matchExpressions.entries()) {
    const deprecation = deprecationOf(key)
    if (deprecation !== undefined) warnings.push(`${path}.matchExpressions[${i}].key: ${key} is ${deprecation}`)
    if (!ofValues) continue
    for (const [j, value] of values.entries())
      for (const problem of [isLabelValue(value) ?? []].flat())
        warnings.push(`${path}.matchExpressions[${i}].values[${j}]: ${value} is invalid, ${problem}`)
  }
  return warnings
}

/** Returns warnings about a nodeSelector. */
export function nodeSelectorWarnings(
  path: string,
  { matchExpressions = [], matchLabels = {} }: LabelSelector,
): readonly string[] {
  const warnings: string[] = []
  for (const [i, { key }] of matchExpressions.entries()) {
    const deprecation = deprecationOf(key)
    if (deprecation !== undefined) warnings.push(`${path}.matchExpressions[${i}].key: ${key} is ${deprecation}`)
  }
  for (const label of Object.keys(matchLabels)) {
    const deprecation = deprecationOf(label)
    if (deprecation !== undefined) warnings.push(`${path}.matchLabels.${label}: ${deprecation}`)
  }
  return warnings
}
