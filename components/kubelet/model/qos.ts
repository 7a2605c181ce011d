import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { qosClassOf, type QOSClass } from "../../../pkg/api/core/v1/pod/resources/pod-qos.ts"
import { milliOf, unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { AnyContainer } from "./containers.ts"
import { isMirrorPod, isStaticPod } from "./labels.ts"
import { ByContainers } from "./by-containers.ts"

/**
 * Returns the quality of service class: the one in the status, or for a static pod the one of its requests. Source:
 * pkg/apis/core/v1/helper/qos/qos.go GetPodQOS.
 */
export const qosClass = ({ spec, status }: Pod): QOSClass => status.qosClass ?? qosClassOf(spec)

/** The lowest priority of critical pods. Source: pkg/apis/scheduling SystemCriticalPriority. */
const SYSTEM_CRITICAL = 2_000_000_000

/** Whether the pod is critical for the node or the cluster. Source: pkg/kubelet/types/pod_update.go IsCriticalPod. */
export const isCritical = (pod: Pod): boolean =>
  isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= SYSTEM_CRITICAL

/**
 * Returns oom_score_adj: containers with higher values are killed first when memory runs out. Source:
 * pkg/kubelet/qos/policy.go GetContainerOOMScoreAdjust.
 */
export function oomScoreAdj(pod: Pod, container: AnyContainer, memoryCapacity: number): number {
  if ((pod.spec.priority ?? 0) >= SYSTEM_CRITICAL) return -997
  switch (qosClass(pod)) {
    case "Guaranteed":
      return -997
    case "BestEffort":
      return 1000
    case "Burstable": {
      const request = container.resources.requests?.["memory"] ?? container.resources.limits?.["memory"]
      const score = 1000 - Math.floor((1000 * (request === undefined ? 0 : unitsOf(request))) / memoryCapacity)
      // Guaranteed pods are killed after every burstable pod, and best-effort pods before.
      return Math.min(Math.max(score, 1000 - 997), 999)
    }
  }
}

const MIN_SHARES = 2
const MAX_SHARES = 262_144
const PERIOD_US = 100_000

/**
 * Returns cpu.shares of cgroup v1; runtimes convert them to the weight of v2. Source: pkg/kubelet/cm/helpers_linux.go.
 */
export const cpuShares = (milli: number): number =>
  milli === 0 ? MIN_SHARES : Math.min(Math.max(Math.floor((milli * 1024) / 1000), MIN_SHARES), MAX_SHARES)

/** Returns the quota in microseconds per period of 100 ms; -1 for no limit. */
export const cpuQuota = (milli: number): number => (milli === 0 ? -1 : Math.max((milli * PERIOD_US) / 1000, 1000))
export const CPU_PERIOD = PERIOD_US

export interface ResourceSums {
  readonly cpuRequest: number
  /** 0 when a container has no limit. */
  readonly cpuLimit: number
  readonly memoryLimit: number
  readonly memoryRequest: number
}

/** Cached, because each admitted pod is compared with all others of its node. */
const known = new ByContainers<ResourceSums>()

/**
 * Returns the requests and limits of a pod as a whole (milli-cores, bytes): those in `spec.resources`, or those of its
 * containers and sidecars together, or of the largest init container where that is more. Source: component-helpers
 * resource/helpers.go.
 */
export const podSums = (pod: Pod): ResourceSums => known.of(pod.spec, () => sumsOf(pod))

function sumsOf(pod: Pod): ResourceSums {
  const amount = (container: AnyContainer, kind: "requests" | "limits", name: string): number => {
    const text =
      container.resources[kind]?.[name] ?? (kind === "requests" ? container.resources.limits?.[name] : undefined)
    return text === undefined ? 0 : name === "cpu" ? milliOf(text) : unitsOf(text)
  }
  const overhead = (name: string): number => {
    const text = pod.spec.overhead?.[name]
    return text === undefined ? 0 : name === "cpu" ? milliOf(text) : unitsOf(text)
  }
  const sum = (kind: "requests" | "limits", name: string): number => {
    const whole = pod.spec.resources?.[kind]?.[name]
    if (whole !== undefined) return name === "cpu" ? milliOf(whole) : unitsOf(whole)
    const running = [
      ...pod.spec.containers,
      ...(pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always"),
    ]
    const everyOne = running.map((container) => amount(container, kind, name))
    if (kind === "limits" && everyOne.includes(0)) return 0
    let sidecars = 0
    let largest = 0
    for (const container of pod.spec.initContainers ?? []) {
      const own = amount(container, kind, name)
      if (container.restartPolicy === "Always") sidecars += own
      largest = Math.max(largest, container.restartPolicy === "Always" ? sidecars : sidecars + own)
    }
    const total = Math.max(
      everyOne.reduce((a, b) => a + b, 0),
      largest,
    )
    return total + (kind === "requests" || total > 0 ? overhead(name) : 0)
  }
  return {
    cpuRequest: sum("requests", "cpu"),
    cpuLimit: sum("limits", "cpu"),
    memoryLimit: sum("limits", "memory"),
    memoryRequest: sum("requests", "memory"),
  }
}
