import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import { milliOf, unitsOf } from "../../pkg/apimachinery/quantity.ts"
import type { Pressure } from "./node/pressure.ts"
import { podSums, qosClass } from "./qos.ts"
import type { Verdict } from "./status/pod-status.ts"
import { sysctlProblem } from "./sysctls.ts"

export interface AdmitRequest {
  readonly pod: Pod
  /** The other pods of the node that have not ended. */
  readonly others: readonly Pod[]
  readonly allocatable: Readonly<Record<string, string>>
  readonly pressure: Pressure
}

/**
 * The kubelet's own look at a pod that was bound to its node: whoever bound it may have been mistaken.
 * Source: pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/sysctl, pkg/kubelet/eviction Admit.
 */
export function admit({ pod, others, allocatable, pressure }: AdmitRequest): Verdict | undefined {
  const refuse = (reason: string, message: string): Verdict => ({
    phase: "Failed",
    reason,
    message: `Pod was rejected: ${message}`,
  })
  const sysctl = sysctlProblem(pod)
  if (sysctl !== undefined) return { phase: "Failed", reason: "SysctlForbidden", message: sysctl }
  if ((pod.spec.priority ?? 0) < 2_000_000_000) {
    if (pressure.memory && qosClass(pod) === "BestEffort")
      return refuse("Evicted", "The node had condition: [MemoryPressure]. ")
    if (pressure.disk) return refuse("Evicted", "The node had condition: [DiskPressure]. ")
    if (pressure.pid) return refuse("Evicted", "The node had condition: [PIDPressure]. ")
  }
  const sums = [pod, ...others].map(podSums)
  const used = (of: (sum: ReturnType<typeof podSums>) => number) =>
    sums.slice(1).reduce((total, sum) => total + of(sum), 0)
  const shortages: readonly (readonly [string, number, number, number])[] = [
    ["pods", 1, others.length, unitsOf(allocatable["pods"] ?? "0")],
    ["cpu", sums[0]!.cpuRequest, used(({ cpuRequest }) => cpuRequest), milliOf(allocatable["cpu"] ?? "0")],
    [
      "memory",
      sums[0]!.memoryRequest,
      used(({ memoryRequest }) => memoryRequest),
      unitsOf(allocatable["memory"] ?? "0"),
    ],
  ]
  for (const [name, requested, inUse, capacity] of shortages) {
    if (requested > 0 && requested + inUse > capacity)
      return refuse(
        `OutOf${name}`,
        `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${inUse}, capacity: ${capacity}`,
      )
  }
  return undefined
}
