import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady, podCondition } from "../../../pkg/pods/pod-state.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }
const COST = "controller.kubernetes.io/pod-deletion-cost"

/**
 * Sorts pods by how much they are worth keeping, the least first: scaling down deletes from the front. `siblingsOn`
 * returns how many pods of the same owner run on the pod's node; `heedCost` says whether the pod-deletion-cost
 * annotation counts. Source: pkg/controller/controller_utils.go ActivePodsWithRanks.
 */
export function leastWorthKeepingFirst(
  pods: readonly Pod[],
  siblingsOn: (node: string) => number,
  now: number,
  heedCost = true,
): readonly Pod[] {
  const ranked = pods.map((pod) => ({
    pod,
    // Each key is larger for a pod that is worth more; the first difference decides.
    keys: [
      pod.spec.nodeName ? 1 : 0, // a pod without a node is worth less
      PHASE_ORDER[pod.status.phase ?? "Pending"] ?? 0,
      isPodReady(pod) ? 1 : 0,
      heedCost ? Number(pod.metadata.annotations?.[COST] ?? 0) || 0 : 0,
      -siblingsOn(pod.spec.nodeName ?? ""), // so is one that shares its node with siblings
      // A pod that has been ready for longer is worth more.
      isPodReady(pod) ? ageBucket(podCondition(pod, "Ready")?.lastTransitionTime ?? undefined, now) : 0,
      -restarts(pod),
      ageBucket(pod.metadata.creationTimestamp, now),
    ],
  }))
  ranked.sort((a, b) => {
    for (const [i, key] of a.keys.entries()) {
      if (key !== b.keys[i]) return key - b.keys[i]!
    }
    return (a.pod.metadata.uid ?? "") < (b.pod.metadata.uid ?? "") ? -1 : 1
  })
  return ranked.map(({ pod }) => pod)
}

const restarts = (pod: Pod): number =>
  Math.max(0, largest((pod.status.containerStatuses ?? []).map(({ restartCount }) => restartCount)))

/**
 * Ages on a logarithmic scale, so that between pods of about the same age chance decides, not milliseconds (KEP-2185).
 */
const ageBucket = (time: string | undefined, now: number): number =>
  time === undefined ? 0 : Math.floor(Math.log2(Math.max(1, (now - Date.parse(time)) * 1e6)))
