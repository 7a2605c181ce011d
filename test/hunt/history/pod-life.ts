import type { Pod } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

/** The phases in the order in which a pod goes through them. Source: pod_status.go, docs of the pod's lifecycle. */
const ORDER: Readonly<Record<string, number>> = { Pending: 0, Running: 1, Succeeded: 2, Failed: 2 }

/**
 * A pod's phase goes only forward, its containers' restarts only grow while its kubelet runs, and it keeps its address
 * while its sandbox lives; a pod that is Ready runs, and so do its containers.
 */
export const goesForward: WriteInvariant = (write, { course, now }) => {
  const { type, object, previous } = write
  if (object.kind !== "Pod" || type !== "update" || previous === undefined) return []
  const [pod, before] = [object as Pod, previous as Pod]
  const problems: string[] = []
  const [was, is] = [before.status.phase ?? "Pending", pod.status.phase ?? "Pending"]
  if ((ORDER[is] ?? -1) < (ORDER[was] ?? -1)) problems.push(`went from ${was} to ${is}`)
  // A kubelet that has lost its machine's containers counts anew.
  if (course.wasCalm(now - 600_000, now))
    for (const { name, restartCount } of pod.status.containerStatuses ?? []) {
      const then = before.status.containerStatuses?.find((one) => one.name === name)?.restartCount ?? 0
      if (restartCount < then) problems.push(`restarted ${name} ${then} times and then ${restartCount} times`)
    }
  const ready = pod.status.conditions?.find((one) => one.type === "Ready")
  if (ready?.status === "True") {
    // The collector of pods marks one Failed and leaves it Ready; whoever deletes it then writes it once more.
    const wasReady = before.status.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true
    const isCollected = isBy(write, "pod-garbage-collector") || (was === "Failed" && wasReady)
    if (is !== "Running" && !isCollected) problems.push(`is ready and ${is}`)
    const idle = (pod.status.containerStatuses ?? []).filter(({ ready: isReady }) => !isReady)
    if (idle.length > 0) problems.push(`is ready, and its ${idle.map(({ name }) => name).join()} is not`)
  }
  return problems.map((problem) => `${nameOf(object)} ${problem}`)
}
