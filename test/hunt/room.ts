import { milliOf } from "../../pkg/apimachinery/scalars/quantity.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { Node, Pod } from "../../components/cluster/testing/testing.ts"
import { LATE } from "./objects/names.ts"
import type { World } from "./world.ts"

/** The requests of a pod of the hunt for cpu or memory, in thousandths. */
export function requestOf({ spec: { containers, initContainers = [] } }: Pod, resource: "cpu" | "memory"): number {
  const of = (list: typeof containers) => list.map(({ resources }) => milliOf(resources?.requests?.[resource] ?? "0"))
  return Math.max(
    of(containers).reduce((sum, one) => sum + one, 0),
    ...of(initContainers),
  )
}

export function allocatable({ status }: Node, resource: "cpu" | "memory" | "pods"): number {
  return milliOf(status.allocatable?.[resource] ?? "0")
}

/** Returns the free resources of a node. */
export function leftOn(node: Node, pods: readonly Pod[], resource: "cpu" | "memory" | "pods"): number {
  const there = pods.filter((pod) => pod.spec.nodeName === node.metadata.name && !isPodTerminal(pod))
  const used = resource === "pods" ? there.length * 1000 : there.reduce((sum, pod) => sum + requestOf(pod, resource), 0)
  return allocatable(node, resource) - used
}

/**
 * Whether the scheduler should have placed the pod: its claims can be had, and some node has room as far as resources
 * go. The pods of the hunt ask for nothing else, but those of DaemonSets for one node.
 */
export function canBePlaced(pod: Pod, { nodes, pods, claims, volumes }: World): boolean {
  const only =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]
      ?.matchFields?.[0]?.values?.[0]
  const hasClaims = (pod.spec.volumes ?? []).every(({ persistentVolumeClaim }) => {
    if (persistentVolumeClaim === undefined) return true
    const claim = claims.find(
      ({ metadata }) =>
        metadata.namespace === pod.metadata.namespace && metadata.name === persistentVolumeClaim.claimName,
    )
    return (
      claim !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      (claim.status.phase === "Bound"
        ? volumes.some(({ metadata }) => metadata.name === claim.spec.volumeName)
        : claim.spec.storageClassName === LATE)
    )
  })
  return (
    hasClaims &&
    nodes.some(
      (node) =>
        (only === undefined || only === node.metadata.name) &&
        leftOn(node, pods, "cpu") >= requestOf(pod, "cpu") &&
        leftOn(node, pods, "memory") >= requestOf(pod, "memory") &&
        leftOn(node, pods, "pods") >= 1000,
    )
  )
}
