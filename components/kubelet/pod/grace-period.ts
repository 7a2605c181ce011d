import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isStaticPod } from "./labels.ts"

/**
 * How long the containers of a pod that ends have, in seconds. `isRemoved`: the API has it no more. `override`: a
 * shorter time that the node itself wants. Source: pkg/kubelet/pod_workers.go calculateEffectiveGracePeriod.
 */
export function graceSeconds(pod: Pod, isRemoved: boolean, override = Infinity): number {
  const { metadata, spec } = pod
  const own =
    metadata.deletionTimestamp === undefined
      ? spec.terminationGracePeriodSeconds
      : (metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds)
  // An object that is gone at once was deleted by force.
  const grace = isRemoved && metadata.deletionTimestamp === undefined && !isStaticPod(pod) ? 0 : own
  return Math.max(1, Math.min(grace, override))
}
