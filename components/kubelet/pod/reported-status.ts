import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { PodAllocation } from "./resources/pod-allocation.ts"
import { hasRunningContainers, type RuntimePod } from "../model/runtime-pod.ts"
import type { WorkerParts } from "./worker-parts.ts"
import type { StartFailure } from "../status/container-status.ts"
import { podStatus, type Verdict } from "../status/pod-status.ts"

interface ReportedStatusRequest {
  readonly pod: Pod
  readonly allocation: PodAllocation
  readonly runtime: RuntimePod
  readonly failures: ReadonlyMap<string, StartFailure>
  /** Whether no container runs any more, and none will be started. */
  readonly terminal: boolean
  readonly verdict: Verdict | undefined
}

export interface ReportedStatus {
  /** The status that others may see. */
  readonly reported: PodStatus
  /** Whether the containers have ended for good, though that may not be reported yet. */
  readonly hasEnded: boolean
}

/** Returns the status of a pod on this node. */
export function reportedStatus(
  { context, status, probes, dra, devices }: WorkerParts,
  { pod, allocation, runtime, failures, terminal, verdict }: ReportedStatusRequest,
): ReportedStatus {
  const before = status.status(pod)
  const computed = podStatus({
    pod,
    before,
    runtime,
    probes,
    failures,
    terminal,
    // A pod whose containers still run has not failed yet, or its replacement would be created while it uses the same
    // volumes and name. Once they have ended it has failed, although its sandbox still exists: by their exit codes
    // alone it might have succeeded. Source: status_manager.go mergePodStatus.
    verdict: hasRunningContainers(runtime) ? undefined : verdict,
    more: allocation.conditions,
    amounts: allocation.amounts,
    inForce: allocation.inForce,
    devices: (container) => [...dra.resourceStatuses(pod, container), ...devices.resourceStatuses(pod, container)],
    nodeIps: context.config.nodeIps,
    now: context.clock.now(),
  })
  const hasEnded = isEnd(computed)
  // Its devices are released first: who sees that the pod has ended could give them to the next one. Source:
  // status_manager.go mergePodStatus, PodMightNeedToUnprepareResources.
  const isHeld = !terminal && hasEnded && dra.holds(pod.metadata.uid!)
  return { reported: isHeld ? { ...computed, phase: before.phase } : computed, hasEnded }
}

export const isEnd = ({ phase }: Pick<PodStatus, "phase">): boolean => phase === "Succeeded" || phase === "Failed"
