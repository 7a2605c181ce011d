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

/** How many of a pod's kind are in each domain of a topology, and the nodes of those with the fewest. */
interface Domains {
  readonly counts: ReadonlyMap<string, number>
  readonly least: number
  readonly fewest: readonly Node[]
}

/**
 * Returns what tells which topology spread constraints keep a pod from a node. The pods of a constraint are counted
 * once, when the first node asks for them.
 */
export function spreadsOf(pod: Pod, place: Place): (node: Node) => readonly Uneven[] {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  )
  const counted = new Map<TopologySpreadConstraint, Domains>()
  let complete: readonly Node[] | undefined
  const domainsFor = (constraint: TopologySpreadConstraint): Domains => {
    complete ??= place.nodes.filter(({ metadata }) =>
      constraints.every(({ topologyKey }) => metadata.labels?.[topologyKey] !== undefined),
    )
    const domains = counted.get(constraint) ?? domainsOf(pod, constraint, complete, place)
    counted.set(constraint, domains)
    return domains
  }
  return (node) =>
    constraints.flatMap((constraint): readonly Uneven[] => {
      const { topologyKey: key, maxSkew, minDomains = 1 } = constraint
      const value = node.metadata.labels?.[key]
      if (value === undefined)
        return [{ says: `has no label ${key}, over which the pod is spread`, constraint, fewest: [] }]
      const { counts, least, fewest } = domainsFor(constraint)
      const here = counts.get(value) ?? 0
      if (here + (selecting(pod, constraint)(pod) ? 1 : 0) - least <= maxSkew) return []
      const names = [...counts].filter(([, count]) => count === least).map(([name]) => name)
      const words =
        counts.size < minDomains
          ? `there are only ${counts.size} of ${minDomains} domains`
          : `${names.join(", ")} has ${least}`
      return [
        {
          says: `${key}=${value} has ${here} of these pods already and ${words}: maxSkew is ${maxSkew}`,
          constraint,
          fewest,
        },
      ]
    })
}

/** Returns whether other pods count for a constraint of a pod. */
function selecting(
  pod: Pod,
  { labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint,
): (other: Pod) => boolean {
  const selector = fromLabelSelector(labelSelector)
  return ({ metadata: { namespace, labels } }) =>
    namespace === pod.metadata.namespace &&
    selector.matches(labels) &&
    matchLabelKeys.every((name) => labels?.[name] === pod.metadata.labels?.[name])
}

/** `complete` are the nodes with the labels of all constraints: the others are not counted. */
function domainsOf(
  pod: Pod,
  constraint: TopologySpreadConstraint,
  complete: readonly Node[],
  { nodes, pods }: Place,
): Domains {
  const { topologyKey: key, minDomains = 1 } = constraint
  const selects = selecting(pod, constraint)
  const onNode = new Map<string, number>()
  for (const other of pods) {
    const { nodeName = "" } = other.spec
    if (other.metadata.deletionTimestamp === undefined && selects(other))
      onNode.set(nodeName, (onNode.get(nodeName) ?? 0) + 1)
  }
  const counts = new Map<string, number>()
  for (const one of complete) {
    if (constraint.nodeAffinityPolicy !== "Ignore" && !runsOn(pod.spec, one)) continue
    const isRepelled = untolerated(one.spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"]) !== undefined
    if (constraint.nodeTaintsPolicy === "Honor" && isRepelled) continue
    const domain = one.metadata.labels?.[key] ?? ""
    counts.set(domain, (counts.get(domain) ?? 0) + (onNode.get(one.metadata.name ?? "") ?? 0))
  }
  if (counts.size < minDomains) return { counts, least: 0, fewest: [] }
  const least = smallest(counts.values())
  return { counts, least, fewest: nodes.filter(({ metadata }) => counts.get(metadata.labels?.[key] ?? "") === least) }
}
