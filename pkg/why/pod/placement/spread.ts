import { smallest } from "../../../lists/extremes.ts"
import type { Node } from "../../../api/core/v1/node/node.ts"
import { untolerated } from "../../../api/core/v1/node/taints.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import { runsOn } from "../../../api/core/v1/pod/scheduling/node-selection.ts"
import type { TopologySpreadConstraint } from "../../../api/core/v1/pod/scheduling/tolerations.ts"
import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import type { Place } from "./place.ts"

/** A constraint that keeps a pod from a node. */
export interface Uneven {
  /** With the counts. */
  readonly says: string
  readonly constraint: TopologySpreadConstraint
  /** The nodes where more of the pods would have to run first. */
  readonly fewest: readonly Node[]
}

/** Returns which topology spread constraints keep a pod from a node. */
export function spreadObstacles(pod: Pod, node: Node, { nodes, pods }: Place): readonly Uneven[] {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  )
  return constraints.flatMap((constraint): readonly Uneven[] => {
    const { topologyKey: key, maxSkew, minDomains = 1, labelSelector, matchLabelKeys = [] } = constraint
    const value = node.metadata.labels?.[key]
    if (value === undefined)
      return [{ says: `has no label ${key}, over which the pod is spread`, constraint, fewest: [] }]
    const selector = fromLabelSelector(labelSelector)
    const selects = (other: Pod) =>
      other.metadata.namespace === pod.metadata.namespace &&
      selector.matches(other.metadata.labels) &&
      matchLabelKeys.every((name) => other.metadata.labels?.[name] === pod.metadata.labels?.[name])
    const counts = new Map<string, number>()
    for (const one of nodes) {
      const place = one.metadata.labels?.[key]
      if (place === undefined || constraints.some((each) => one.metadata.labels?.[each.topologyKey] === undefined))
        continue
      if (constraint.nodeAffinityPolicy !== "Ignore" && !runsOn(pod.spec, one)) continue
      const isRepelled = untolerated(one.spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"]) !== undefined
      if (constraint.nodeTaintsPolicy === "Honor" && isRepelled) continue
      const matching = pods.filter(
        (other) =>
          other.spec.nodeName === one.metadata.name && other.metadata.deletionTimestamp === undefined && selects(other),
      )
      counts.set(place, (counts.get(place) ?? 0) + matching.length)
    }
    const least = counts.size < minDomains ? 0 : smallest(counts.values())
    const here = counts.get(value) ?? 0
    if (here + (selects(pod) ? 1 : 0) - least <= maxSkew) return []
    const fewest = [...counts].filter(([, count]) => count === least).map(([place]) => place)
    const counted =
      counts.size < minDomains
        ? `there are only ${counts.size} of ${minDomains} domains`
        : `${fewest.join(", ")} has ${least}`
    return [
      {
        says: `${key}=${value} has ${here} of these pods already and ${counted}: maxSkew is ${maxSkew}`,
        constraint,
        fewest:
          counts.size < minDomains ? [] : nodes.filter(({ metadata }) => fewest.includes(metadata.labels?.[key] ?? "")),
      },
    ]
  })
}
