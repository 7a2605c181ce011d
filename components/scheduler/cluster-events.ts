import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { OWN_PORTS } from "../../pkg/component/own-ports.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { ClusterAction } from "./framework.ts"

/**
 * Returns the changes of a node that matter to waiting pods; none for a heartbeat. Source:
 * pkg/scheduler/eventhandlers.go nodeSchedulingPropertiesChange.
 */
export function nodeActions(node: Node, old: Node): readonly ClusterAction[] {
  const actions: ClusterAction[] = []
  if (differ(node.status.allocatable, old.status.allocatable)) actions.push("Node/UpdateAllocatable")
  if (differ(node.metadata.labels, old.metadata.labels)) actions.push("Node/UpdateLabel")
  if (
    differ(node.spec.taints, old.spec.taints) ||
    (node.spec.unschedulable !== old.spec.unschedulable && node.spec.unschedulable !== true)
  )
    actions.push("Node/UpdateTaint")
  if (differ(states(node), states(old))) actions.push("Node/UpdateCondition")
  if (differ(node.status.declaredFeatures, old.status.declaredFeatures)) actions.push("Node/UpdateDeclaredFeatures")
  if (node.metadata.annotations?.[OWN_PORTS] !== old.metadata.annotations?.[OWN_PORTS])
    actions.push("Node/UpdateOwnPorts")
  return actions
}

/** Returns the changes of a bound pod that may let other pods fit. `old` is undefined for a new pod. */
export function podActions(pod: Pod, old: Pod | undefined): readonly ClusterAction[] {
  if (old === undefined || !old.spec.nodeName) return ["AssignedPod/Add"]
  if (isPodTerminal(pod) && !isPodTerminal(old)) return ["AssignedPod/Delete"]
  const actions: ClusterAction[] = []
  if (differ(pod.metadata.labels, old.metadata.labels)) actions.push("AssignedPod/UpdateLabel")
  if (pod.spec !== old.spec && differ(requestsIn(pod), requestsIn(old))) actions.push("AssignedPod/ScaleDown")
  return actions
}

const states = (node: Node): unknown => node.status.conditions?.map(({ type, status }) => [type, status])
const requestsIn = (pod: Pod): unknown => [pod.spec.resources, pod.spec.containers.map(({ resources }) => resources)]
const differ = (a: unknown, b: unknown): boolean => a !== b && JSON.stringify(a) !== JSON.stringify(b)
