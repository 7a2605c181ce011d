import { couldRestartAll, endRestartsAll } from "../../../pkg/api/core/v1/container/container-restart.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { latest, type RuntimeContainer, type RuntimePod } from "./runtime-pod.ts"

/**
 * The restart rule RestartAllContainers: when a container ends with such a code, the pod begins anew in its sandbox and
 * with its volumes. All its containers are stopped and removed from the runtime, and then start in their order, init
 * containers first. Source: KEP-5532.
 *
 * The condition AllContainersRestarting in the pod's status says so from that end until the last container is removed,
 * so that another kubelet goes on where one was stopped.
 */
export const RESTARTING_CONDITION = "AllContainersRestarting"

/** The reason of a container that was removed. Source: pkg/kubelet/kubelet_pods.go RestartingAllContainers. */
export const RESTARTING_REASON = "RestartingAllContainers"

/** A container that was or will be removed. */
export interface Reset {
  readonly run: RuntimeContainer
  /** Whether its end was the cause. */
  readonly isCause: boolean
}

export const isMarkedRestarting = ({ conditions = [] }: Pick<PodStatus, "conditions">): boolean =>
  conditions.some(({ type, status }) => type === RESTARTING_CONDITION && status === "True")

/**
 * Whether all containers are to be started again, from what the runtime has or from the status that was reported last:
 * the runtime no longer has the container that was the cause once it is removed. Source: ShouldAllContainersRestart in
 * pkg/kubelet/container/helpers.go.
 */
export function restartsAllNow({ spec }: Pod, runtime: RuntimePod, before: PodStatus): boolean {
  if (!couldRestartAll(spec)) return false
  if (isMarkedRestarting(before)) return true
  const reported = [...(before.initContainerStatuses ?? []), ...(before.containerStatuses ?? [])]
  return [...(spec.initContainers ?? []), ...spec.containers].some((container) => {
    const run = latest(runtime, container.name)
    if (run?.state === "exited" && endRestartsAll(container, run.exitCode)) return true
    const ended = reported.find(({ name }) => name === container.name)?.state.terminated
    // A newer run than the one that was reported has begun after that restart.
    return run === undefined && ended !== undefined && endRestartsAll(container, ended.exitCode)
  })
}

/**
 * Returns the runs to remove, in this order: containers, init containers, and last those whose ends were the cause, so
 * that a kubelet which is stopped in between still sees it. Source: kuberuntime_manager.go getContainersToReset.
 */
export function resetsOf({ spec }: Pod, { containers }: RuntimePod): readonly Reset[] {
  const resets = [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) =>
    containers
      .filter(({ name }) => name === container.name)
      .map((run) => ({ run, isCause: run.state === "exited" && endRestartsAll(container, run.exitCode) })),
  )
  return [...resets.filter(({ isCause }) => !isCause), ...resets.filter(({ isCause }) => isCause)]
}
