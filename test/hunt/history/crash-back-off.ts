import type { Pod } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

const FIRST_SECONDS = 10
const LONGEST_SECONDS = 300
/** Times are whole seconds, and an image may take a while to start. */
const SLACK_SECONDS = 11

/**
 * Returns how long a container waits before its nth restart, in seconds, if it never ran for twice the longest wait:
 * the first restart is at once, then 10 s, 20 s … 300 s. Source: kuberuntime_manager.go doBackOff, kubelet.go.
 */
export const waitBefore = (restart: number): number =>
  restart <= 1 ? 0 : Math.min(FIRST_SECONDS * 2 ** (restart - 2), LONGEST_SECONDS)

/** A container that has ended is started again after its back-off, and not much later. */
export const backsOffCrashes: WriteInvariant = ({ type, object, previous }, { course, now }) => {
  if (object.kind !== "Pod" || type !== "update" || previous === undefined) return []
  const [pod, before] = [object as Pod, previous as Pod]
  const created = Date.parse(pod.metadata.creationTimestamp ?? "")
  // A kubelet that starts anew has forgotten all waits.
  if (pod.metadata.deletionTimestamp !== undefined || !course.wasCalm(created, now)) return []
  return (pod.status.containerStatuses ?? []).flatMap(({ name, restartCount, state, lastState }) => {
    const was = before.status.containerStatuses?.find((one) => one.name === name)
    const [started, ended] = [state?.running?.startedAt, lastState?.terminated?.finishedAt ?? undefined]
    if (was === undefined || was.restartCount === restartCount || !started || ended === undefined) return []
    const ran = Date.parse(ended) - Date.parse(lastState?.terminated?.startedAt ?? ended)
    if (ran > LONGEST_SECONDS * 1000) return []
    const waited = (Date.parse(started) - Date.parse(ended)) / 1000
    const wanted = waitBefore(restartCount)
    return waited < wanted - 1 || waited > wanted + SLACK_SECONDS
      ? [`container ${name} of ${nameOf(object)} waited ${waited} s for its restart ${restartCount}, not ${wanted} s`]
      : []
  })
}
