import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { isStaticPod } from "../../model/labels.ts"

/**
 * Returns the grace period of the containers of a pod, in seconds. `isRemoved`: the API no longer has the pod.
 * `override`: a shorter period that the node wants. Source: pkg/kubelet/pod_workers.go calculateEffectiveGracePeriod.
 */
export function graceSeconds(pod: Pod, isRemoved: boolean, override = Infinity): number {
  const { metadata, spec } = pod
  const own =
    metadata.deletionTimestamp === undefined
      ? spec.terminationGracePeriodSeconds
      : (metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds)
  // An object that is gone at once was force-deleted.
  const grace = isRemoved && metadata.deletionTimestamp === undefined && !isStaticPod(pod) ? 0 : own
  return Math.max(1, Math.min(grace, override))
}
