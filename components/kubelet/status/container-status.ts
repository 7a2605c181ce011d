import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  VolumeMountStatus,
} from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { ResourceRequirements } from "../../../pkg/api/core/v1/resources/resources.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { byName } from "../../../pkg/cache/by-name.ts"
import { RecentValues } from "../../../pkg/cache/recent-values.ts"
import type { ContainerOfPod } from "../model/containers.ts"
import type { ProbeResults } from "../model/probe-results.ts"
import { initRestarts, restarts } from "../../../pkg/api/core/v1/container/container-restart.ts"
import { RESTARTING_REASON } from "../model/restart-all.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"

/** Why the last attempt to start a container failed. */
export interface StartFailure {
  readonly reason: string
  readonly message: string
}

export interface ContainerStatusRequest {
  readonly pod: Pod
  readonly of: ContainerOfPod
  /** The runs of the container, newest first. */
  readonly runs: readonly RuntimeContainer[]
  /** The status that was reported last. */
  readonly before: ContainerStatus | undefined
  readonly failure: StartFailure | undefined
  readonly probes: ProbeResults
  /** Whether no container of the pod is started any more. */
  readonly terminal: boolean
  /** Whether all init containers have finished. */
  readonly initialized: boolean
  /** Whether all containers are being removed, to be started again. */
  readonly restartsAll: boolean
  /** What the container has while that is not what is allocated to it: a resize that is not done, or was refused. */
  readonly inForce?: ResourceRequirements | undefined
}

/** Returns the status of the container with that name. */
export const statusOf = (statuses: readonly ContainerStatus[] | undefined, name: string): ContainerStatus | undefined =>
  byName(statuses, name)

/**
 * Returns the restart count of the next run of a container that the runtime does not know, or no longer knows. `status`
 * is the one that was reported last; a status that waits counts the next run already.
 */
export const nextCount = (status: ContainerStatus | undefined): number =>
  status === undefined ? 0 : status.state.waiting === undefined ? status.restartCount + 1 : status.restartCount

/** Returns the status of a container. Source: pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses. */
export function containerStatus(request: ContainerStatusRequest): ContainerStatus {
  const {
    pod,
    of: { container, type },
    runs,
    before,
    failure,
    terminal,
  } = request
  const [run, previous] = runs
  if (run === undefined) return statusWithoutRun(request)
  const lastEnded =
    previous === undefined
      ? before?.lastState.terminated === undefined
        ? {}
        : before.lastState
      : { terminated: terminated(previous) }
  const state = stateOf(run)
  const base = {
    name: container.name,
    image: container.image ?? "",
    imageID: run.imageRef,
    containerID: containerId(run),
    restartCount: run.notes.restartCount,
    ...details(request, run),
  }
  const restartsNow =
    !terminal &&
    state.terminated !== undefined &&
    type !== "ephemeral" &&
    (type === "init" ? initRestarts(pod, container, run.exitCode) : restarts(pod, container, run.exitCode))
  // A container that ended and could not be started again is waiting; its end moves to lastState.
  if (restartsNow && failure !== undefined) {
    return {
      ...base,
      state: { waiting: failure },
      lastState: { terminated: state.terminated },
      ready: false,
      started: false,
    }
  }
  if (run.state === "created" && failure !== undefined)
    return { ...base, state: { waiting: failure }, lastState: lastEnded, ready: false, started: false }
  return { ...base, state, lastState: lastEnded, ...readiness(request, run) }
}

function readiness(
  { of: { container, type }, probes, terminal }: ContainerStatusRequest,
  run: RuntimeContainer,
): Pick<ContainerStatus, "ready" | "started"> {
  if (type === "init") return { ready: run.state === "exited" && run.exitCode === 0, started: run.state === "running" }
  const running = run.state === "running"
  if (type === "ephemeral") return { ready: false }
  const started = running && probes.isStarted(container, run)
  return {
    ready: !terminal ? started && probes.isReady(container, run) : running && probes.isReady(container, run),
    started,
  }
}

/** Returns the status of a container that the runtime does not know, or no longer knows. */
function statusWithoutRun({
  pod,
  of: { container, type },
  before,
  failure,
  terminal,
  initialized,
  restartsAll,
}: ContainerStatusRequest): ContainerStatus {
  const reported = before?.state.running !== undefined || before?.state.terminated !== undefined
  if (terminal && before?.state.running !== undefined) {
    const lost = {
      exitCode: 137,
      reason: "ContainerStatusUnknown",
      message: "The container could not be located when the pod was terminated",
      startedAt: before.state.running.startedAt,
      containerID: before.containerID,
    }
    return { ...before, state: { terminated: lost }, ready: false, started: false }
  }
  if (restartsAll && !terminal && reported) {
    const message = "The container is removed because RestartAllContainers in place"
    return {
      name: container.name,
      image: container.image ?? "",
      imageID: "",
      restartCount: before.restartCount + 1,
      ready: false,
      started: false,
      state: { waiting: { reason: RESTARTING_REASON, message } },
      lastState: { terminated: { reason: RESTARTING_REASON, message, exitCode: 137 } },
      ...volumeMounts(container),
    }
  }
  // The container was garbage-collected; the end that was reported remains true.
  if (reported && before.state.terminated !== undefined) return before
  if (!terminal && before?.state.running !== undefined) {
    const lost = {
      exitCode: 137,
      reason: "ContainerStatusUnknown",
      message: "The container could not be located when the pod was deleted.  The container used to be Running",
      containerID: before.containerID,
    }
    return {
      ...before,
      state: { waiting: failure ?? { reason: "ContainerCreating" } },
      lastState: { terminated: lost },
      ready: false,
      started: false,
      restartCount: before.restartCount + 1,
    }
  }
  const waits = type === "regular" && !initialized && (pod.spec.initContainers ?? []).length > 0
  const usual =
    waits || (type === "init" || type === "sidecar" ? (pod.spec.initContainers ?? []).length > 0 : false)
      ? "PodInitializing"
      : "ContainerCreating"
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    restartCount: before?.restartCount ?? 0,
    ready: false,
    started: false,
    state: { waiting: failure ?? { reason: usual } },
    lastState: before?.lastState ?? {},
    ...volumeMounts(container),
  }
}

/** The state of each run is cached, since runs are immutable and reported many times. */
const states = new RecentValues<RuntimeContainer, ContainerState>()

function stateOf(run: RuntimeContainer): ContainerState {
  const known = states.get(run)
  if (known !== undefined) return known
  const state = computeState(run)
  states.set(run, state)
  return state
}

function computeState(run: RuntimeContainer): ContainerState {
  switch (run.state) {
    case "running":
      return { running: { startedAt: formatTime(run.startedAt) } }
    case "exited":
      return { terminated: terminated(run) }
    case "created":
      return { waiting: { reason: "ContainerCreating" } }
    case "unknown":
      return {
        terminated: {
          ...terminated(run),
          exitCode: 137,
          reason: "ContainerStatusUnknown",
          message: "The container could not be located when the pod was terminated",
        },
      }
  }
}

/**
 * An exit code above 128 shows which signal ended the process. `signal` is not set: upstream leaves it to runtimes, and
 * none sets it.
 */
export function terminated(run: RuntimeContainer): ContainerStateTerminated {
  const reason = run.reason !== "" ? run.reason : run.exitCode === 0 ? "Completed" : "Error"
  return {
    exitCode: run.exitCode,
    reason,
    ...(run.message === "" ? {} : { message: run.message }),
    ...(run.startedAt > 0 ? { startedAt: formatTime(run.startedAt) } : {}),
    ...(run.finishedAt > 0 ? { finishedAt: formatTime(run.finishedAt) } : {}),
    containerID: containerId(run),
  }
}

export const containerId = ({ id }: RuntimeContainer): string => `containerd://${id}`

function details(
  { of: { container }, inForce = container.resources }: ContainerStatusRequest,
  run: RuntimeContainer,
): Partial<ContainerStatus> {
  const allocated = container.resources.requests
  const { requests, limits } = inForce
  const resources: ResourceRequirements = {
    ...(requests === undefined ? {} : { requests }),
    ...(limits === undefined ? {} : { limits }),
  }
  return {
    ...(allocated === undefined ? {} : { allocatedResources: allocated }),
    ...(run.state === "running" ? { resources } : {}),
    ...(run.user === undefined
      ? {}
      : {
          user: {
            linux: {
              uid: run.user.uid,
              gid: run.user.gid,
              ...(run.user.supplementalGroups.length === 0 ? {} : { supplementalGroups: run.user.supplementalGroups }),
            },
          },
        }),
    ...volumeMounts(container),
  }
}

function volumeMounts(container: ContainerOfPod["container"]): {
  readonly volumeMounts?: readonly VolumeMountStatus[]
} {
  const mounts = container.volumeMounts ?? []
  if (mounts.length === 0) return {}
  return {
    volumeMounts: mounts.map(({ name, mountPath, readOnly, recursiveReadOnly }) => ({
      name,
      mountPath,
      ...(readOnly === true
        ? { readOnly, recursiveReadOnly: recursiveReadOnly === "Enabled" ? "Enabled" : "Disabled" }
        : {}),
    })),
  }
}
