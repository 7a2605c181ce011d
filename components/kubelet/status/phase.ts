import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStateTerminated, ContainerStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { isSidecar } from "../model/containers.ts"
import { isStaticPod } from "../model/labels.ts"
import { initRestarts, restarts } from "../../../pkg/api/core/v1/container/container-restart.ts"
import { RESTARTING_REASON } from "../model/restart-all.ts"
import { statusOf } from "./container-status.ts"

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed"

/**
 * Returns the phase of a pod from the statuses of its containers. `terminal` means that no container is started any
 * more, whatever the restart policy; `restartsAll` that each is started again, whatever its end. Source: pkg/kubelet/kubelet_pods.go getPhase, pkg/kubelet/status/status_manager.go
 * TerminatePod.
 */
export function phaseOf(
  pod: Pod,
  initStatuses: readonly ContainerStatus[],
  statuses: readonly ContainerStatus[],
  terminal: boolean,
  restartsAll = false,
): Phase {
  let pendingInit = 0
  let failedInit = 0
  const started = pod.spec.containers.some(({ name }) => {
    const status = statusOf(statuses, name)
    return (
      status?.state.running !== undefined ||
      status?.state.terminated !== undefined ||
      status?.lastState.terminated !== undefined
    )
  })
  for (const container of pod.spec.initContainers ?? []) {
    const status = statusOf(initStatuses, container.name)
    if (isSidecar(container)) {
      if (!started && status?.started !== true) pendingInit++
      continue
    }
    const ended =
      status?.state.terminated ?? (status?.state.waiting === undefined ? undefined : status.lastState.terminated)
    if (ended === undefined) {
      if (!started) pendingInit++
    } else if (ended.exitCode !== 0) {
      if (restartsAll || wasReset(ended) || initRestarts(pod, container, ended.exitCode)) {
        if (!started) pendingInit++
      } else failedInit++
    }
  }

  let running = 0
  let waiting = 0
  let stopped = 0
  let succeeded = 0
  let again = 0
  for (const container of pod.spec.containers) {
    const status = statusOf(statuses, container.name)
    const ended =
      status?.state.terminated ?? (status?.state.running === undefined ? status?.lastState.terminated : undefined)
    if (status?.state.running !== undefined) running++
    else if (ended === undefined) waiting++
    else {
      stopped++
      if (ended.exitCode === 0) succeeded++
      if (restartsAll || wasReset(ended) || restarts(pod, container, ended.exitCode)) again++
    }
  }
  const sidecarsRun = (pod.spec.initContainers ?? []).some(
    (container) => isSidecar(container) && statusOf(initStatuses, container.name)?.state.running !== undefined,
  )

  if (failedInit > 0) return "Failed"
  // The pod has ended: containers that did not succeed have failed, including those that never ran.
  if (terminal && !isStaticPod(pod) && running === 0 && !sidecarsRun)
    return pendingInit === 0 && waiting === 0 && stopped === succeeded ? "Succeeded" : "Failed"
  if (pendingInit > 0 || waiting > 0) return "Pending"
  if (running > 0) return "Running"
  // All regular containers have stopped; the pod ends after its sidecars do.
  if (again > 0 || sidecarsRun) return "Running"
  return stopped === succeeded ? "Succeeded" : "Failed"
}

/** Whether the container was removed, to be started again with all others. */
const wasReset = ({ reason }: ContainerStateTerminated): boolean => reason === RESTARTING_REASON
