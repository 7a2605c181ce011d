import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { TAINT, tolerates } from "../../../pkg/api/core/v1/node/taints.ts"
import type { OwnPorts } from "../../../pkg/component/own-ports.ts"
import type { Pressure } from "../model/pressure.ts"
import { isCritical, qosClass } from "../model/qos.ts"
import { appArmorProblem } from "../security/app-armor.ts"
import { failures, isAffinityAlone, isShortage, type Failure } from "./predicates.ts"
import { podsToPreempt } from "./preemption.ts"
import type { Shortage } from "./resource-fit.ts"
import { sysctlProblem } from "../security/sysctls.ts"
import { EVICTED, type Rejection } from "../model/rejection.ts"

export interface AdmitRequest {
  readonly pod: Pod
  /** Returns the other admitted pods of the node that have not ended. */
  others(): readonly Pod[]
  /** The ports of the machine that pods cannot have. */
  readonly ownPorts: Pick<OwnPorts, "problemOf">
  /** The Node in the API, or the one to be registered; undefined while neither is known. */
  readonly node: Node | undefined
  readonly pressure: Pressure
  readonly hasAppArmor: boolean
  readonly operatingSystem: string
  /** Sysctls that pods may set although they are not safe; none unless given. */
  readonly unsafeSysctls?: readonly string[]
  /** Reads the node from the API. */
  freshNode(): Promise<Node>
  /** Ends the pods to free resources for `critical`; resolves when they have ended. */
  preempt(pods: readonly Pod[], critical: Pod): Promise<void>
}

/**
 * The kubelet's own check of a pod that was bound to its node, because a pod can be bound by mistake. The first
 * objection counts, in upstream's order. Source: the list of admit handlers in pkg/kubelet/kubelet.go NewMainKubelet;
 * pkg/kubelet/eviction Admit, pkg/kubelet/sysctl, pkg/kubelet/lifecycle.
 */
export async function admit(request: AdmitRequest): Promise<Rejection | undefined> {
  const { pod, hasAppArmor } = request
  const early = underPressure(request) ?? forbiddenSysctl(request) ?? (await unfit(request))
  if (early !== undefined) return early
  const problem = appArmorProblem(pod, hasAppArmor)
  return problem === undefined ? undefined : { reason: "AppArmor", message: `Cannot enforce AppArmor: ${problem}` }
}

function forbiddenSysctl({ pod, unsafeSysctls }: AdmitRequest): Rejection | undefined {
  const message = sysctlProblem(pod, unsafeSysctls)
  return message === undefined ? undefined : { reason: "SysctlForbidden", message }
}

const MEMORY_PRESSURE = { key: TAINT.memoryPressure, effect: "NoSchedule" } as const

/**
 * Under pressure a node admits only critical pods; under memory pressure alone, also pods that are not BestEffort and
 * pods that tolerate the taint.
 */
function underPressure({ pod, pressure }: AdmitRequest): Rejection | undefined {
  const conditions = [
    ...(pressure.memory ? ["MemoryPressure"] : []),
    ...(pressure.disk ? ["DiskPressure"] : []),
    ...(pressure.pid ? ["PIDPressure"] : []),
  ]
  if (conditions.length === 0 || isCritical(pod)) return undefined
  if (
    conditions.length === 1 &&
    pressure.memory &&
    (qosClass(pod) !== "BestEffort" ||
      (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, MEMORY_PRESSURE)))
  )
    return undefined
  return { reason: EVICTED, message: `The node had condition: [${conditions.join(" ")}]. ` }
}

/** Checks the operating system and the scheduler's filters. Source: pkg/kubelet/lifecycle/predicate.go Admit. */
async function unfit(request: AdmitRequest): Promise<Rejection | undefined> {
  const { pod, node, operatingSystem } = request
  if (node === undefined) return { reason: "InvalidNodeInfo", message: "Kubelet cannot get node info." }
  // Objections that freeing resources cannot solve come first, so that no pod is preempted in vain.
  const wantedByLabel = pod.metadata.labels?.["kubernetes.io/os"]
  if (wantedByLabel !== undefined && wantedByLabel !== operatingSystem)
    return {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    }
  if (pod.spec.os !== undefined && pod.spec.os.name !== operatingSystem)
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" }
  if (
    pod.spec.securityContext.supplementalGroupsPolicy === "Strict" &&
    node.status.features?.supplementalGroupsPolicy !== true
  )
    return {
      reason: "SupplementalGroupsPolicyNotSupported",
      message: "SupplementalGroupsPolicy=Strict is not supported in this node",
    }
  let failed = failures(pod, request.others(), node, request.ownPorts)
  if (isAffinityAlone(failed)) {
    const fresh = await request.freshNode().catch(() => undefined)
    if (fresh !== undefined) failed = failures(pod, request.others(), fresh, request.ownPorts)
  }
  if (failed.length === 0) return undefined
  return isCritical(pod) ? madeRoom(request, failed) : rejectionOf(failed[0]!)
}

/**
 * Preempts other pods for a critical pod that lacks only resources. Source: pkg/kubelet/preemption/preemption.go
 * HandleAdmissionFailure.
 */
async function madeRoom(request: AdmitRequest, failed: readonly Failure[]): Promise<Rejection | undefined> {
  const { pod } = request
  const other = failed.find((failure) => !isShortage(failure))
  if (other !== undefined) return rejectionOf(other)
  const found = podsToPreempt(pod, request.others(), failed.filter(isShortage))
  if ("pods" in found) {
    await request.preempt(found.pods, pod)
    return undefined
  }
  const missing = [...found.missing].map(([resource, amount]) => `(res: ${resource}, q: ${amount}), `)
  return {
    reason: "UnexpectedAdmissionError",
    message:
      "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of " +
      `pods to preempt: no set of running pods found to reclaim resources: [${missing.join("")}]`,
  }
}

function rejectionOf(failure: Failure): Rejection {
  return isShortage(failure)
    ? { reason: `OutOf${failure.resource}`, message: shortageMessage(failure) }
    : { reason: failure.predicate, message: `Predicate ${failure.predicate} failed: ${failure.why}` }
}

const shortageMessage = ({ resource, requested, used, capacity }: Shortage): string =>
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`
