import { milliOf } from "../../pkg/apimachinery/scalars/quantity.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { Node, Pod } from "../../components/cluster/testing/testing.ts"

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
