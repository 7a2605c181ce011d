import { parseQuantity } from "../../../../../apimachinery/scalars/quantity.ts"
import type { PodSpec } from "../podspec.ts"

export type QOSClass = "Guaranteed" | "Burstable" | "BestEffort"
type Amounts = Readonly<Record<string, string>>

const COUNTED = ["cpu", "memory"] as const
const isPositive = (text: string | undefined): boolean => text !== undefined && (parseQuantity(text)?.nano ?? 0n) > 0n

/**
 * Returns the quality of service class: Guaranteed when every container has limits of CPU and memory and equal
 * requests, BestEffort when no container has requests or limits of either, Burstable otherwise. Pod-level requests and
 * limits, where given, are used instead of those of the containers. Source: ComputePodQOS in
 * pkg/apis/core/v1/helper/qos.
 */
export function qosClassOf({ containers = [], initContainers = [], resources }: PodSpec): QOSClass {
  const all =
    resources === undefined ? [...initContainers, ...containers].map((container) => container.resources) : [resources]
  if (!all.some(({ requests, limits }) => hasAny(requests) || hasAny(limits))) return "BestEffort"
  const guaranteed = all.every(({ requests = {}, limits = {} }) =>
    COUNTED.every(
      (name) =>
        isPositive(limits[name]) &&
        parseQuantity(limits[name]!)?.nano === parseQuantity(requests[name] ?? limits[name]!)?.nano,
    ),
  )
  return guaranteed ? "Guaranteed" : "Burstable"
}
const hasAny = (amounts: Amounts | undefined): boolean =>
  amounts !== undefined && COUNTED.some((name) => isPositive(amounts[name]))
