import type { Node } from "../../../api/core/v1/node/node.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import type { NodeSelectorRequirement } from "../../../api/core/v1/pod/scheduling/affinity.ts"
import { matchesTerm, requiredTerms } from "../../../api/core/v1/pod/scheduling/node-selection.ts"

/** Returns why a pod's nodeSelector or node affinity does not match a node: a code and words. */
export function selectorWords({ spec }: Pod, node: Node): readonly [code: string, says: string] {
  const labels = node.metadata.labels ?? {}
  const wrong = Object.entries(spec.nodeSelector ?? {}).find(([key, value]) => labels[key] !== value)
  if (wrong !== undefined) {
    const [key, value] = wrong
    const has = labels[key]
    const shows = has === undefined ? `has no label ${key}` : `has ${key}=${has}`
    return ["node-selector", `${shows}, the pod's nodeSelector wants ${key}=${value}`]
  }
  const terms = requiredTerms(spec) ?? []
  const unmet = terms.flatMap(({ matchExpressions = [], matchFields = [] }) => [
    ...matchExpressions
      .filter((one) => !matchesTerm({ matchExpressions: [one] }, node))
      .map(
        (one) => `${requirement(one)} (it has ${labels[one.key] === undefined ? "no such label" : labels[one.key]})`,
      ),
    ...matchFields.filter((one) => !matchesTerm({ matchFields: [one] }, node)).map(requirement),
  ])
  return ["node-affinity", `the pod's node affinity wants ${unmet.join(" or ")}`]
}

const requirement = ({ key, operator, values = [] }: NodeSelectorRequirement): string =>
  operator === "Exists" || operator === "DoesNotExist"
    ? `${key} ${operator}`
    : `${key} ${operator} [${values.join(", ")}]`
