import type { Pod, PodDisruptionBudget } from "../../../components/cluster/testing/testing.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { isPodActive, isPodReady } from "../../../pkg/pods/pod-state.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

/**
 * A budget's numbers agree with each other whenever the controller writes them, and an eviction takes one disruption
 * and notes one pod. Source: disruption.go updatePdbStatus, pod/storage/eviction.go checkAndDecrement.
 */
export const countsDisruptions: WriteInvariant = (write) => {
  const { object, previous, type } = write
  if (object.kind !== "PodDisruptionBudget" || type !== "update" || previous === undefined) return []
  const { status } = object as PodDisruptionBudget
  const { status: before } = previous as PodDisruptionBudget
  if (JSON.stringify(status) === JSON.stringify(before)) return []
  const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } = status
  const problems: string[] = []
  if (disruptionsAllowed < 0) problems.push(`allows ${disruptionsAllowed} disruptions`)
  const isFailed = status.conditions?.some(({ reason }) => reason === "SyncFailed") === true
  if (isBy(write, "disruption-controller")) {
    const wanted = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
    if (!isFailed && disruptionsAllowed !== wanted)
      problems.push(`allows ${disruptionsAllowed} disruptions with ${currentHealthy} healthy pods of ${desiredHealthy}`)
  } else {
    const noted = Object.keys(status.disruptedPods ?? {}).length - Object.keys(before.disruptedPods ?? {}).length
    if (before.disruptionsAllowed - disruptionsAllowed !== 1 || noted > 1)
      problems.push(`went from ${before.disruptionsAllowed} to ${disruptionsAllowed} disruptions by an eviction`)
  }
  return problems.map((problem) => `${nameOf(object)} ${problem}`)
}

/**
 * What an eviction begins leaves as many healthy pods as the budget wants: a healthy pod gets DisruptionTarget by the
 * eviction API only while more are healthy than desired. Source: eviction.go.
 */
export const keepsBudgets: WriteInvariant = (write, seen) => {
  const { object, previous, type } = write
  const [pod, before] = [object as Pod, previous as Pod | undefined]
  if (object.kind !== "Pod" || type !== "update" || before === undefined) return []
  const evicted = (one: Pod) =>
    one.status.conditions?.some(({ reason, status }) => reason === "EvictionByEvictionAPI" && status === "True") ===
    true
  if (!evicted(pod) || evicted(before) || !isPodReady(before) || !isPodActive(before)) return []
  return seen
    .all<PodDisruptionBudget>("PodDisruptionBudget")
    .filter(
      ({ metadata, spec, status }) =>
        metadata.namespace === pod.metadata.namespace &&
        seen.isOld("PodDisruptionBudget", metadata.uid) &&
        status.observedGeneration === metadata.generation &&
        fromLabelSelector(spec.selector ?? {}).matches(pod.metadata.labels),
    )
    .filter(({ metadata, status, spec }) => {
      const healthy = seen
        .all<Pod>("Pod")
        .filter(
          (one) =>
            one.metadata.namespace === metadata.namespace &&
            fromLabelSelector(spec.selector ?? {}).matches(one.metadata.labels) &&
            isPodActive(one) &&
            isPodReady(one) &&
            !evicted(one),
        ).length
      // What fails beside it, or is deleted by others, is nobody's eviction: the controller's last count decides.
      return status.disruptedPods?.[pod.metadata.name ?? ""] === undefined && healthy < status.desiredHealthy
    })
    .map(
      (budget) =>
        `${nameOf(pod)} was evicted, though ${nameOf(budget)} wants ${budget.status.desiredHealthy} healthy pods`,
    )
}
