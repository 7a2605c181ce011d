import {
  allocatableAmounts,
  noAmounts,
  add,
  requestsOf,
  takenBy,
} from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isExtendedResource } from "../../../pkg/api/core/v1/resources/resource-names.ts"

/** A resource of which the node has too little for a pod: milli-cores, bytes, or units of anything else. */
export interface Shortage {
  readonly resource: string
  readonly requested: number
  readonly used: number
  readonly capacity: number
}

/**
 * Returns the resources of which the node has too little for the pod, `pods` first. An extended resource that the Node
 * does not list is skipped, because something else in the cluster provides it, and so is what a container has by the
 * claim that the scheduler made for extended resources. Source:
 * pkg/scheduler/framework/plugins/noderesources/fit.go fitsRequest, and removeMissingExtendedResources in
 * pkg/kubelet/lifecycle/predicate.go.
 */
export function shortages(pod: Pod, others: readonly Pod[], { status }: Node): readonly Shortage[] {
  const wanted = requestsOf(withoutClaimed(pod)).exact
  const has = allocatableAmounts(status.allocatable)
  const used = noAmounts()
  // For a pod without requests only the number of pods counts. Adding up all pods for each such pod took a hundredth of
  // the time of a large cluster.
  const wantsAny = wanted.cpu > 0 || wanted.memory > 0 || wanted.ephemeral > 0 || wanted.scalar.size > 0
  if (wantsAny) for (const other of others) add(used, takenBy(other).exact)
  const rows: Shortage[] = [
    { resource: "cpu", requested: wanted.cpu, used: used.cpu, capacity: has.cpu },
    { resource: "memory", requested: wanted.memory, used: used.memory, capacity: has.memory },
    { resource: "ephemeral-storage", requested: wanted.ephemeral, used: used.ephemeral, capacity: has.ephemeral },
  ]
  for (const [resource, requested] of wanted.scalar) {
    const capacity = has.scalar.get(resource)
    if (capacity === undefined && isExtendedResource(resource)) continue
    rows.push({ resource, requested, used: used.scalar.get(resource) ?? 0, capacity: capacity ?? 0 })
  }
  const short = rows.filter(({ requested, used: inUse, capacity }) => requested > 0 && requested > capacity - inUse)
  const maxPods = has.scalar.get("pods") ?? 0
  return others.length + 1 > maxPods
    ? [{ resource: "pods", requested: 1, used: others.length, capacity: maxPods }, ...short]
    : short
}

/** Returns the pod without the requests of its containers that are served by the claim for extended resources. */
function withoutClaimed(pod: Pod): Pod {
  const { requestMappings } = pod.status.extendedResourceClaimStatus ?? {}
  if (requestMappings === undefined) return pod
  const left = (containers: readonly Container[]): readonly Container[] =>
    containers.map((container) => {
      const claimed = new Set(
        requestMappings.flatMap(({ containerName, resourceName }) =>
          containerName === container.name ? [resourceName] : [],
        ),
      )
      const requests = Object.entries(container.resources.requests ?? {}).filter(([name]) => !claimed.has(name))
      return { ...container, resources: { ...container.resources, requests: Object.fromEntries(requests) } }
    })
  const { containers, initContainers = [] } = pod.spec
  return { ...pod, spec: { ...pod.spec, containers: left(containers), initContainers: left(initContainers) } }
}
