import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStateTerminated, ContainerStatus, PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { isSidecar } from "../model/containers.ts"
import { statusOf } from "./container-status.ts"

/** The state of a container whose end was not observed. */
const UNKNOWN_END: ContainerStateTerminated = {
  exitCode: 137,
  reason: "ContainerStatusUnknown",
  message: "The container could not be located when the pod was terminated",
}

/**
 * Returns the statuses of init containers and containers of a pod that has ended. Each container that should have run
 * gets an end: one that never started counts as failed, since a reader of exit codes (a Job's podFailurePolicy) would
 * otherwise wait for ever. Containers are left as they are if the pod was still initializing, and so are init
 * containers that were not due yet. `before` is the status that was reported last. Source:
 * pkg/kubelet/status/status_manager.go TerminatePod.
 */
export function withEnds(
  pod: Pod,
  before: PodStatus,
  init: readonly ContainerStatus[],
  regular: readonly ContainerStatus[],
): { readonly init: readonly ContainerStatus[]; readonly regular: readonly ContainerStatus[] } {
  const had = init.findLastIndex(
    ({ state, lastState }) => state.waiting === undefined || lastState.terminated !== undefined,
  )
  return {
    init: init.map((status, i) => (i <= Math.max(had, 0) ? ended(status) : status)),
    regular: wasInitialized(pod, before) ? regular.map(ended) : regular,
  }
}

const ended = (status: ContainerStatus): ContainerStatus =>
  status.state.terminated !== undefined
    ? status
    : { ...status, state: { terminated: UNKNOWN_END }, ready: false, started: false }

/** Whether the status shows that the pod finished initializing. Source: status_manager.go hasPodInitialized. */
function wasInitialized({ spec }: Pod, before: PodStatus): boolean {
  const last = spec.initContainers?.at(-1)
  if (last === undefined) return true
  if (
    (before.containerStatuses ?? []).some(
      ({ state, lastState }) => lastState.terminated !== undefined || state.waiting === undefined,
    )
  )
    return true
  const status = statusOf(before.initContainerStatuses, last.name)
  if (status === undefined) return false
  if (isSidecar(last)) return status.state.running !== undefined && status.started === true
  return status.state.terminated?.exitCode === 0 || status.lastState.terminated?.exitCode === 0
}
