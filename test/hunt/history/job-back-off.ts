import type { Job, Pod } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

const FIRST_SECONDS = 10
const LONGEST_SECONDS = 600

/** Returns the end of the pod's last container, in milliseconds; undefined while one runs. */
function endOf({ status }: Pod): number | undefined {
  const ends = (status.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ""))
  return ends.length === 0 || ends.some(Number.isNaN) ? undefined : Math.max(...ends)
}

/**
 * A Job creates a pod only when the back-off after its last failures is over: 10 s, 20 s … 600 s, from the last failure
 * on; a success resets it. With backoffLimitPerIndex each index has its own. Source: job/backoff_utils.go.
 */
export const backsOffJobs: WriteInvariant = (write, seen) => {
  const { object, type } = write
  if (object.kind !== "Pod" || type !== "create" || !isBy(write, "job-controller")) return []
  const owner = controllerOf(object)
  const job = seen.get<Job>("Job", owner?.uid)
  // A controller that starts anew knows only the failures that it has not counted yet.
  if (job === undefined || !seen.course.wasCalm(Date.parse(job.metadata.creationTimestamp ?? ""), seen.now)) return []
  const ended = seen
    .ever<Pod>("Pod")
    .filter((pod) => controllerOf(pod)?.uid === owner?.uid && pod.metadata.uid !== object.metadata.uid)
    .filter((pod) => job.spec.backoffLimitPerIndex === undefined || indexOf(pod) === indexOf(object))
    .map((pod) => ({ pod, at: endOf(pod) ?? Infinity }))
    .filter(({ at }) => at <= seen.now)
    .toSorted((a, b) => a.at - b.at)
  const lastSuccess = ended.findLast(({ pod }) => pod.status.phase === "Succeeded")?.at ?? -Infinity
  // Pods that were deleted before they failed may count, or not.
  const failures = ended.filter(
    ({ pod, at }) => pod.status.phase === "Failed" && pod.metadata.deletionTimestamp === undefined && at > lastSuccess,
  )
  const last = failures.at(-1)
  if (last === undefined) return []
  const wait = Math.min(FIRST_SECONDS * 2 ** (failures.length - 1), LONGEST_SECONDS)
  const waited = (seen.now - last.at) / 1000
  return waited < wait - 1
    ? [`${nameOf(object)} was created ${waited} s after the failure ${failures.length} of its Job, not ${wait} s`]
    : []
}

const indexOf = ({ metadata }: { readonly metadata: Pod["metadata"] }): string | undefined =>
  metadata.labels?.["batch.kubernetes.io/job-completion-index"]
