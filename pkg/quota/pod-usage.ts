import type { Pod } from "../api/core/v1/pod/pod.ts"
import { inForce } from "../api/core/v1/pod/resources/in-force.ts"
import { isOfPods } from "../api/core/v1/pod/resources/pod-resources.ts"
import {
  addResourceLists,
  containersResourceList,
  resourceList,
  type ResourceList,
} from "../api/core/v1/pod/resources/resource-list.ts"
import { isHugePages } from "../api/core/v1/resources/resource-names.ts"
import { mayBeClaimed } from "../api/resource/v1/extended-resources.ts"
import { fromUnits, type Quantity } from "../apimachinery/scalars/quantity.ts"
import type { Usage } from "./quota-objects.ts"

/** How much of a quota pods use. Source: pkg/quota/v1/evaluator/core/pods.go, component-helpers resource/helpers.go. */

const ONE = fromUnits(1)
const COMPUTE = ["cpu", "memory", "ephemeral-storage"]

/** Returns the usage of a pod; nothing for a pod that has ended, or whose deletion is long overdue. */
export function podUsage(pod: Pod, now: number): Usage {
  if (hasEnded(pod, now)) return {}
  const used: Record<string, Quantity> = { pods: ONE }
  for (const [name, amount] of Object.entries(total(pod, "requests"))) {
    const isCompute = COMPUTE.includes(name) || isHugePages(name)
    if (isCompute) used[name] = amount
    if (isCompute || mayBeClaimed(name)) used[`requests.${name}`] = amount
  }
  const limits = total(pod, "limits")
  for (const name of COMPUTE) if (limits[name] !== undefined) used[`limits.${name}`] = limits[name]
  return used
}

/** A pod on a lost node stays, since no kubelet can end it. It counts as ended when its grace period is over. */
function hasEnded({ metadata, status }: Pod, now: number): boolean {
  if (status.phase === "Succeeded" || status.phase === "Failed") return true
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  return (
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds !== undefined &&
    now > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
  )
}

type Kind = "requests" | "limits"

/** Resources of the pod itself replace those of its containers. */
function total(pod: Pod, kind: Kind): ResourceList {
  const { resources, overhead } = pod.spec
  const ofContainers = containersResourceList(pod.spec, (container, runsBefore) =>
    resourceList(runsBefore ? container.resources[kind] : inForce(pod, container, kind)),
  )
  const ofPod = Object.entries(resources?.[kind] ?? {}).filter(([name]) => isOfPods(name))
  const all = { ...ofContainers, ...resourceList(Object.fromEntries(ofPod)) }
  const cost = Object.entries(resourceList(overhead)).filter(
    ([name]) => kind === "requests" || (all[name] !== undefined && all[name].nano !== 0n),
  )
  return addResourceLists(all, Object.fromEntries(cost))
}
