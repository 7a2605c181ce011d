import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isBeingResized } from "../../pkg/api/core/v1/pod/resources/in-force.ts"
import { takenBy } from "../../pkg/api/core/v1/pod/resources/pod-requests.ts"
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
  if (takesLess(pod, old)) actions.push("AssignedPod/ScaleDown")
  return actions
}

const states = (node: Node): unknown => node.status.conditions?.map(({ type, status }) => [type, status])

/** Whether a pod takes less of its node than before. Source: extractPodScaleDown in pkg/scheduler/framework/events.go. */
function takesLess(pod: Pod, old: Pod): boolean {
  if (pod.spec === old.spec && !isBeingResized(pod) && !isBeingResized(old)) return false
  const [now, before] = [takenBy(pod).exact, takenBy(old).exact]
  if (now.cpu < before.cpu || now.memory < before.memory || now.ephemeral < before.ephemeral) return true
  return [...before.scalar].some(([name, amount]) => (now.scalar.get(name) ?? 0) < amount)
}

const differ = (a: unknown, b: unknown): boolean => a !== b && JSON.stringify(a) !== JSON.stringify(b)
