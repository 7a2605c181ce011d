import { int64Of } from "../../../../apimachinery/go/go-text.ts"
import type { Taint } from "./nodespec.ts"
import type { Toleration } from "../pod/scheduling/tolerations.ts"

/** Well-known taints that the control plane puts on nodes. Source: k8s.io/api core/v1/well_known_taints.go. */
export const TAINT = {
  notReady: "node.kubernetes.io/not-ready",
  unreachable: "node.kubernetes.io/unreachable",
  unschedulable: "node.kubernetes.io/unschedulable",
  memoryPressure: "node.kubernetes.io/memory-pressure",
  diskPressure: "node.kubernetes.io/disk-pressure",
  pidPressure: "node.kubernetes.io/pid-pressure",
  networkUnavailable: "node.kubernetes.io/network-unavailable",
  outOfService: "node.kubernetes.io/out-of-service",
} as const

/** Whether the scheduler only avoids nodes with the taint: it uses them when no other node is left. */
export const isSoft = ({ effect }: Taint): boolean => effect === "PreferNoSchedule"

/**
 * Source: ToleratesTaint in component-helpers scheduling/corev1. Lt and Gt (KEP-5471) compare whole numbers: the
 * taint's value with the toleration's.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  const [wanted, there] = [toleration.value ?? "", taint.value ?? ""]
  switch (toleration.operator ?? "Equal") {
    case "Exists":
      return true
    case "Equal":
      return toleration.key !== undefined && toleration.key !== "" && wanted === there
    case "Lt":
      return isBelow(there, wanted)
    case "Gt":
      return isBelow(wanted, there)
  }
}

/** Compares whole numbers; false where one is none. */
function isBelow(text: string, other: string): boolean {
  const [number, bound] = [int64Of(text), int64Of(other)]
  return number !== undefined && bound !== undefined && number < bound
}

/** Returns the first taint with one of `effects` that no toleration matches. */
export const untolerated = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly Taint["effect"][],
): Taint | undefined =>
  taints?.find(
    (taint) =>
      effects.includes(taint.effect) && !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  )
