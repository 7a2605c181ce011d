import { requestsOf } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isCritical, qosClass } from "../model/qos.ts"
import type { Shortage } from "./resource-fit.ts"

/** The amount of each resource that is still to be freed, by its name. */
export type Missing = ReadonlyMap<string, number>

/**
 * Returns the pods to preempt for a critical pod: as few as possible, and those of a lower quality of service class
 * first. Returns the remaining shortage when all of them together would not be enough. Source:
 * pkg/kubelet/preemption/preemption.go getPodsToPreempt.
 */
export function podsToPreempt(
  critical: Pod,
  others: readonly Pod[],
  short: readonly Shortage[],
): { readonly pods: readonly Pod[] } | { readonly missing: Missing } {
  const missing = new Map(
    short.map(({ resource, requested, used, capacity }) => [resource, requested - (capacity - used)]),
  )
  const candidates = others.filter((other) => mayPreempt(critical, other))
  const of = (wanted: string) => candidates.filter((pod) => qosClass(pod) === wanted)
  const [bestEffort, burstable, guaranteed] = [of("BestEffort"), of("Burstable"), of("Guaranteed")]
  const unmet = without(missing, candidates)
  if (unmet.size > 0) return { missing: unmet }
  // Each class provides only what the lower classes together cannot.
  const guaranteedToo = fewest(guaranteed, without(missing, [...bestEffort, ...burstable]))
  const burstableToo = fewest(burstable, without(missing, [...bestEffort, ...guaranteedToo]))
  const bestEffortToo = fewest(bestEffort, without(missing, [...burstableToo, ...guaranteedToo]))
  return { pods: [...bestEffortToo, ...burstableToo, ...guaranteedToo] }
}

function mayPreempt(pod: Pod, other: Pod): boolean {
  if (isCritical(pod) && !isCritical(other)) return true
  const [own, theirs] = [pod.spec.priority, other.spec.priority]
  return own !== undefined && theirs !== undefined && own > theirs
}

/**
 * Chooses pods until the missing amounts are free: each time the pod that reduces the shortage most; of two equal ones
 * the pod with the smaller requests.
 */
function fewest(pods: readonly Pod[], missing: Missing): readonly Pod[] {
  const left = new Set(pods)
  const chosen: Pod[] = []
  for (let still = missing; still.size > 0 && left.size > 0;) {
    let best: Pod | undefined
    for (const pod of left) {
      if (best === undefined) best = pod
      else {
        const difference = distance(still, pod) - distance(still, best)
        if (difference < 0 || (difference === 0 && isSmaller(pod, best))) best = pod
      }
    }
    left.delete(best!)
    chosen.push(best!)
    still = without(still, [best!])
  }
  return chosen
}

/** How much would still be missing without the pod, each resource as a fraction of what is missing now. */
function distance(missing: Missing, pod: Pod): number {
  let sum = 0
  for (const [resource, amount] of missing) sum += Math.max(0, (amount - requestOf(pod, resource)) / amount) ** 2
  return sum
}

const without = (missing: Missing, pods: readonly Pod[]): Missing =>
  new Map(
    [...missing]
      .map(
        ([resource, amount]) =>
          [resource, amount - pods.reduce((sum, pod) => sum + requestOf(pod, resource), 0)] as const,
      )
      .filter(([, amount]) => amount > 0),
  )

const isSmaller = (a: Pod, b: Pod): boolean =>
  requestOf(a, "memory") - requestOf(b, "memory") < 0 ||
  (requestOf(a, "memory") === requestOf(b, "memory") && requestOf(a, "cpu") <= requestOf(b, "cpu"))

/** Source: pkg/api/v1/resource/helpers.go GetResourceRequest. Of the resource `pods` each pod is one. */
function requestOf(pod: Pod, resource: string): number {
  const { exact } = requestsOf(pod)
  switch (resource) {
    case "pods":
      return 1
    case "cpu":
      return exact.cpu
    case "memory":
      return exact.memory
    case "ephemeral-storage":
      return exact.ephemeral
    default:
      return exact.scalar.get(resource) ?? 0
  }
}
