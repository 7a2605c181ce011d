import { MAX_SCORE, SUCCESS, type Plugin } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"
import { requestsOf } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import { extendedResourcesOf } from "../dynamicresources/extended-resources.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { mayBeClaimed } from "../../../pkg/api/resource/v1/extended-resources.ts"

/** Everything that `requestsOf` reads. */
const signature = ({ spec }: Pod): unknown => [
  spec.containers.map(({ resources }) => resources.requests),
  spec.initContainers?.map(({ resources, restartPolicy }) => [resources.requests, restartPolicy]),
  spec.resources?.requests,
  spec.overhead,
]

/**
 * Filters out nodes that lack the requested resources, and prefers nodes with more free CPU and memory. A resource of
 * which a node has none passes where a DeviceClass stands for it (`hasClass`). Source: plugins/noderesources/fit.go,
 * least_allocated.go.
 */
export const nodeResourcesFit = (hasClass: (resource: string) => boolean): Plugin => ({
  name: "NodeResourcesFit",
  eventsToRegister: [
    "Node/Add",
    "Node/UpdateAllocatable",
    "AssignedPod/Delete",
    "AssignedPod/ScaleDown",
    "Pod/Update",
    "DeviceClass/Change",
  ],
  signature: (pod) => [signature(pod), extendedResourcesOf(pod).filter(hasClass)],
  filter(_state, pod, node) {
    const { exact } = requestsOf(pod)
    const { requested, allocatable } = node
    const reasons: string[] = []
    let hopeless = false // not even an empty node of this size would do
    const check = (name: string, wanted: number, used: number, total: number) => {
      if (wanted === 0 || wanted <= total - used) return
      reasons.push(`Insufficient ${name}`)
      hopeless ||= wanted > total
    }
    if (node.pods.size + 1 > node.maxPods) reasons.push("Too many pods")
    check("cpu", exact.cpu, requested.cpu, allocatable.cpu)
    check("memory", exact.memory, requested.memory, allocatable.memory)
    check("ephemeral-storage", exact.ephemeral, requested.ephemeral, allocatable.ephemeral)
    for (const [name, wanted] of exact.scalar) {
      const total = allocatable.scalar.get(name) ?? 0
      // DynamicResources looks for devices instead.
      if (total > 0 || !mayBeClaimed(name) || !hasClass(name))
        check(name, wanted, requested.scalar.get(name) ?? 0, total)
    }
    return reasons.length === 0
      ? SUCCESS
      : { code: hopeless ? "UnschedulableAndUnresolvable" : "Unschedulable", reasons }
  },
  score(_state, pod, node) {
    const { cpu, memory } = fractions(requestsOf(pod).scored, node)
    return Math.floor((free(cpu) + free(memory)) / 2)
  },
})

/**
 * Prefers nodes whose CPU and memory would be used to the same fraction. Source:
 * plugins/noderesources/balanced_allocation.go.
 */
export const balancedAllocation: Plugin = {
  name: "NodeResourcesBalancedAllocation",
  signature,
  score(_state, pod, node) {
    const { cpu, memory } = fractions(requestsOf(pod).scored, node)
    return Math.floor((1 - Math.abs(Math.min(1, cpu) - Math.min(1, memory)) / 2) * MAX_SCORE)
  },
}

/** Returns the used fractions of a node's CPU and memory with the pod on it; above 1 when it does not fit. */
const fractions = (
  wanted: { readonly cpu: number; readonly memory: number },
  { scored, allocatable }: NodeInfo,
): { readonly cpu: number; readonly memory: number } => ({
  cpu: allocatable.cpu === 0 ? 1 : (scored.cpu + wanted.cpu) / allocatable.cpu,
  memory: allocatable.memory === 0 ? 1 : (scored.memory + wanted.memory) / allocatable.memory,
})

const free = (fraction: number): number => (fraction > 1 ? 0 : (1 - fraction) * MAX_SCORE)
