import type { Pod, ResourceQuota } from "../../../components/cluster/testing/testing.ts"
import { milliOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { requestOf } from "../room.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/**
 * A pod is created only if the quotas of its namespace have its request left, counted anew from all pods that had not
 * ended when the quota was counted last. Source: apiserver pkg/admission/plugin/resourcequota/controller.go.
 */
export const keepsQuotas: WriteInvariant = ({ type, object }, seen) => {
  if (object.kind !== "Pod" || type !== "create") return []
  const { namespace } = object.metadata
  const used = seen
    .all<Pod>("Pod")
    .filter((pod) => pod.metadata.namespace === namespace && !isPodTerminal(pod) && seen.now <= endOfGrace(pod))
    .reduce((sum, pod) => sum + requestOf(pod, "cpu"), 0)
  return seen
    .all<ResourceQuota>("ResourceQuota")
    .filter(({ metadata, spec, status }) => {
      const hard = spec.hard?.["requests.cpu"]
      return (
        metadata.namespace === namespace &&
        hard !== undefined &&
        hard === status.hard?.["requests.cpu"] &&
        used > milliOf(hard)
      )
    })
    .map(
      (quota) =>
        `${nameOf(object)} takes ${used / 1000} CPUs of ${nameOf(quota)}, which has ${quota.spec.hard!["requests.cpu"]}`,
    )
}

function endOfGrace({ metadata: { deletionTimestamp, deletionGracePeriodSeconds = 0 } }: Pod): number {
  return deletionTimestamp === undefined ? Infinity : Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}
