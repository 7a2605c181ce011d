import { isExtendedResource } from "../../../pkg/api/core/v1/resources/resource-names.ts"
import type { NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs } from "../config/plugin-args.ts"
import { SUCCESS, type Plugin } from "../framework.ts"
import { balancedScore, fitScore } from "./resource-scores.ts"
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
 * Filters out nodes that lack the requested resources, and prefers nodes with more free CPU and memory, or as the
 * profile says. A resource of which a node has none passes where a DeviceClass stands for it (`hasClass`).
 * @param ignored extended resources that an extender checks instead
 * Source: plugins/noderesources/fit.go.
 */
export function nodeResourcesFit(
  hasClass: (resource: string) => boolean,
  { ignoredResources = [], ignoredResourceGroups = [], scoringStrategy }: NodeResourcesFitArgs,
  ignored: readonly string[] = [],
): Plugin {
  const names = new Set([...ignoredResources, ...ignored])
  const groups = new Set(ignoredResourceGroups)
  const isIgnored = (name: string): boolean =>
    names.size + groups.size > 0 && isExtendedResource(name) && (names.has(name) || groups.has(name.split("/")[0]!))
  const score = fitScore(scoringStrategy!)
  return {
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
        if (isIgnored(name)) continue
        const total = allocatable.scalar.get(name) ?? 0
        // DynamicResources looks for devices instead.
        if (total > 0 || !mayBeClaimed(name) || !hasClass(name))
          check(name, wanted, requested.scalar.get(name) ?? 0, total)
      }
      return reasons.length === 0
        ? SUCCESS
        : { code: hopeless ? "UnschedulableAndUnresolvable" : "Unschedulable", reasons }
    },
    score: (_state, pod, node) => score(pod, node),
  }
}

/**
 * Prefers nodes whose resources would be used to the same fraction. Source:
 * plugins/noderesources/balanced_allocation.go.
 */
export function balancedAllocation({ resources = [] }: NodeResourcesBalancedAllocationArgs): Plugin {
  const score = balancedScore(resources)
  return {
    name: "NodeResourcesBalancedAllocation",
    signature,
    score: (_state, pod, node) => score(pod, node),
  }
}
