import { requestsOf } from "../../../pkg/api/core/v1/pod/pod-requests.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isCritical, qosClass } from "../pod/qos.ts"
import type { Shortage } from "./resource-fit.ts"

/** How much of each resource is still to be freed, by its name. */
export type Missing = ReadonlyMap<string, number>

/**
 * The pods that have to go so that a critical pod has the room it lacks: as few as may be, those of a lower class of
 * service rather than those of a higher one. When not even all of them would do, what would still be missing. Source:
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
  // Of each class only what the lower classes cannot give, though all of them went.
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
 * The pods, one after the other, each of which frees most of what is still missing; of two that free the same, the one
 * that asks for less.
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

/** How much would still be missing without the pod, each resource as a part of what is missing now. */
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

/** Source: pkg/api/v1/resource/helpers.go GetResourceRequest: of pods each pod is one. */
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
