import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type {
  ContainerState,
  ContainerStatus,
  PodCondition,
  PodStatus,
  ResourceStatus,
} from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { allByName } from "../../../pkg/cache/by-name.ts"
import { containersOf, type AnyContainer, type ContainerOfPod } from "../model/containers.ts"
import { sandboxState } from "../model/sandbox-state.ts"
import type { ProbeResults } from "../model/probe-results.ts"
import { setAside, type Allocation } from "../model/allocation.ts"
import type { PodAmounts } from "../model/pod-amounts.ts"
import { qosClass } from "../model/qos.ts"
import { resetsOf, restartsAllNow } from "../model/restart-all.ts"
import type { RuntimePod } from "../model/runtime-pod.ts"
import { firstByType, findings, OWN_CONDITIONS, type Finding } from "./conditions.ts"
import { containerStatus, statusOf, type StartFailure } from "./container-status.ts"
import { withEnds } from "./never-ran.ts"
import { phaseOf, type Phase } from "./phase.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/**
 * The longest sum of a pod's termination messages, in bytes. Source: kubecontainer.MaxPodTerminationMessageLogLength.
 */
const MAX_MESSAGES_BYTES = 12_288

export interface PodStatusRequest {
  readonly pod: Pod
  /** The status that was reported last; its times are kept where nothing changed. */
  readonly before: PodStatus
  readonly runtime: RuntimePod
  readonly probes: ProbeResults
  readonly failures: ReadonlyMap<string, StartFailure>
  /** Whether all containers have stopped and none is started any more. */
  readonly terminal: boolean
  /** Decides the phase instead of the containers: eviction, active deadline, rejection. */
  readonly verdict: Verdict | undefined
  /** Additional conditions, for example PodResizePending. */
  readonly more?: readonly Finding[]
  /** The resources of the pod as a whole. */
  readonly amounts?: PodAmounts
  /** What running containers have, while that is not what is allocated to them. */
  readonly inForce?: Allocation | undefined
  /** Returns the health of the devices that a container has. */
  readonly devices: (container: AnyContainer) => readonly ResourceStatus[]
  readonly nodeIps: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Why the kubelet itself ended a pod. */
export interface Verdict {
  readonly phase: "Failed"
  readonly reason: string
  readonly message: string
  /** The node rejected the pod, so the status has no containers. */
  readonly isRejection?: true
  /** For example DisruptionTarget. */
  readonly condition?: Pick<PodCondition, "type" | "status" | "reason" | "message">
}

/**
 * Returns the status to report for a pod. A pure function. Source: pkg/kubelet/kubelet_pods.go generateAPIPodStatus,
 * pkg/kubelet/status/status_manager.go.
 */
export function podStatus(request: PodStatusRequest): PodStatus {
  const { pod, before, runtime, verdict, nodeIps, now, terminal } = request
  if (verdict?.isRejection === true) return rejected(pod, before, verdict, now)
  const all = containersOf(pod)
  const initialized = all.every(
    ({ type, container }) =>
      type !== "init" ||
      allByName(runtime.containers, container.name).some(({ state, exitCode }) => state === "exited" && exitCode === 0),
  )
  const restartsAll = restartsAllNow(pod, runtime, before)
  const limit = Math.floor(MAX_MESSAGES_BYTES / all.length)
  const statuses = (of: readonly ContainerOfPod[], old: readonly ContainerStatus[] | undefined) =>
    of.map((each) =>
      shortened(
        containerStatus({
          pod,
          of: each,
          runs: allByName(runtime.containers, each.container.name),
          before: statusOf(old, each.container.name),
          failure: request.failures.get(each.container.name),
          probes: request.probes,
          terminal,
          initialized,
          restartsAll,
          inForce: request.inForce && setAside(request.inForce, each.container.name),
        }),
        limit,
      ),
    )
  const seenInit = statuses(
    all.filter(({ type }) => type === "init" || type === "sidecar"),
    before.initContainerStatuses,
  )
  const regularContainers = all.filter(({ type }) => type === "regular")
  // Upstream shows devices for these containers alone, and none once the claims have been given back.
  const seen = statuses(regularContainers, before.containerStatuses).map((status, i) =>
    withDevices(status, request.devices(regularContainers[i]!.container)),
  )
  const ephemeral = statuses(
    all.filter(({ type }) => type === "ephemeral"),
    before.ephemeralContainerStatuses,
  )

  const phase = finalPhase(before, verdict, phaseOf(pod, seenInit, seen, terminal, restartsAll))
  const { init, regular } = terminal ? withEnds(pod, before, seenInit, seen) : { init: seenInit, regular: seen }
  const { sandbox } = sandboxState(pod, runtime)
  const ips =
    pod.spec.hostNetwork === true
      ? sandbox === undefined
        ? []
        : nodeIps.slice(0, 2)
      : (sandbox?.ips ?? runtime.sandboxes[0]?.ips ?? [])
  const keepsIps = ips.length === 0 && phase !== "Pending" && before.podIPs !== undefined
  const podIps = keepsIps ? before.podIPs!.map(({ ip }) => ip) : ips
  const found = findings({
    pod,
    phase,
    before: before.conditions ?? [],
    restartsAll: restartsAll && resetsOf(pod, runtime).length > 0,
    initStatuses: init,
    statuses: regular,
    hasSandbox: sandbox !== undefined,
  })
  if (verdict?.condition !== undefined) found.push(verdict.condition)
  if (!terminal) pushAll(found, request.more ?? [])
  const why: Pick<PodStatus, "reason" | "message"> = verdict ?? (phase === "Failed" ? before : {})
  return {
    observedGeneration: pod.metadata.generation,
    phase,
    conditions: mergedConditions(pod, before.conditions ?? [], found, now),
    reason: why.reason,
    message: why.message,
    hostIP: nodeIps[0],
    hostIPs: nodeIps.slice(0, 2).map((ip) => ({ ip })),
    podIP: podIps[0],
    podIPs: podIps.length === 0 ? undefined : podIps.map((ip) => ({ ip })),
    startTime: before.startTime ?? formatTime(now),
    qosClass: before.qosClass ?? qosClass(pod),
    allocatedResources: request.amounts?.allocatedResources,
    resources: request.amounts?.resources,
    initContainerStatuses: init.length === 0 ? undefined : init,
    containerStatuses: regular,
    ephemeralContainerStatuses: ephemeral.length === 0 ? undefined : ephemeral,
  }
}

/** Returns the status of a rejected pod. Source: pkg/kubelet/kubelet.go rejectPod. */
const rejected = (pod: Pod, before: PodStatus, { phase, reason, message }: Verdict, now: number): PodStatus => ({
  observedGeneration: pod.metadata.generation,
  phase,
  conditions: mergedConditions(pod, before.conditions ?? [], [], now),
  reason,
  message,
  startTime: before.startTime ?? formatTime(now),
  qosClass: before.qosClass ?? qosClass(pod),
})

/** A pod that has ended never becomes active again. */
function finalPhase(before: PodStatus, verdict: Verdict | undefined, computed: Phase): Phase {
  if (before.phase === "Failed" || before.phase === "Succeeded") return before.phase
  return verdict?.phase ?? computed
}

/**
 * Merges the kubelet's own conditions, which keep their times when the status is the same, with the conditions of
 * others, which are left as they are.
 */
function mergedConditions(
  pod: Pod,
  before: readonly PodCondition[],
  found: readonly Finding[],
  now: number,
): readonly PodCondition[] {
  const observedGeneration = pod.metadata.generation
  const known = firstByType(before)
  const merged = found.map(({ type, status, reason, message }): PodCondition => {
    const old = known.get(type)
    const isSame = old?.status === status && typeof old.lastTransitionTime === "string"
    if (
      isSame &&
      old.reason === reason &&
      old.message === message &&
      old.observedGeneration === observedGeneration &&
      (old.lastProbeTime ?? undefined) === undefined
    )
      return old
    return {
      type,
      status,
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
      lastTransitionTime: isSame ? old.lastTransitionTime : formatTime(now),
      ...(reason === undefined || reason === "" ? {} : { reason }),
      ...(message === undefined || message === "" ? {} : { message }),
    }
  })
  // A pod may have tens of thousands.
  const types = new Set<string>(merged.map(({ type }) => type))
  const addOthers = (conditions: readonly PodCondition[]) => {
    for (const other of conditions) {
      if (OWN_CONDITIONS.has(other.type) || types.has(other.type)) continue
      types.add(other.type)
      merged.push(other)
    }
  }
  addOthers(pod.status.conditions ?? [])
  addOthers(before)
  return merged
}

const withDevices = (status: ContainerStatus, devices: readonly ResourceStatus[]): ContainerStatus =>
  devices.length === 0 ? status : { ...status, allocatedResourcesStatus: devices }

function shortened(status: ContainerStatus, limit: number): ContainerStatus {
  const [state, lastState] = [cut(status.state, limit), cut(status.lastState, limit)]
  return state === status.state && lastState === status.lastState ? status : { ...status, state, lastState }
}

function cut(state: ContainerState, limit: number): ContainerState {
  const message = state.terminated?.message
  if (message === undefined || Buffer.byteLength(message) <= limit) return state
  return { terminated: { ...state.terminated!, message: Buffer.from(message).subarray(0, limit).toString("utf8") } }
}
