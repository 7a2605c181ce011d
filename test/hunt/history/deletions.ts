import type { Pod } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/** The kubelet gives a container at least this long. Source: kuberuntime_container.go minimumGracePeriodInSeconds. */
const LEAST_GRACE_SECONDS = 2
/** How long a write takes from its request to its revision, where servers share a log. */
const LONGEST_WRITE_MS = 100
/** Times in objects are whole seconds. */
const ROUNDING_MS = 1000

/**
 * The deletionTimestamp of a pod is the moment of the request plus the grace period, to the second, and a later request
 * only shortens it. Source: apiserver pkg/registry/rest/delete.go BeforeDelete.
 */
export const addsTheGracePeriod: WriteInvariant = ({ type, object, previous, time }) => {
  const { deletionTimestamp: until, deletionGracePeriodSeconds: grace } = object.metadata
  const before = previous?.metadata
  if (object.kind !== "Pod" || type !== "update" || until === undefined) return []
  if (before?.deletionTimestamp !== undefined) {
    const was = before.deletionGracePeriodSeconds ?? 0
    return grace === undefined || grace > was ? [`${nameOf(object)} had ${was} s to end and then ${grace} s`] : []
  }
  if (grace === undefined) return [`${nameOf(object)} is deleted without a grace period`]
  const written = Date.parse(time)
  const wanted = [written, written - LONGEST_WRITE_MS].map((at) => Math.floor((at + grace * 1000) / 1000) * 1000)
  return wanted.includes(Date.parse(until))
    ? []
    : [`${nameOf(object)} was deleted at ${time} with ${grace} s, until ${until}`]
}

/**
 * A container of a deleted pod has ended when the grace period is over, and the kubelet removes the pod then. Where
 * something was wrong, it may take longer.
 */
export const endsWithinTheGrace: WriteInvariant = ({ type, object, time, author }, { course }) => {
  const { metadata, status } = object as Pod
  const { deletionTimestamp: until, deletionGracePeriodSeconds: grace = 0 } = metadata
  if (object.kind !== "Pod" || type !== "delete" || until === undefined || !author.startsWith("system:node:")) return []
  const end = Date.parse(until) + LEAST_GRACE_SECONDS * 1000 + ROUNDING_MS
  if (!course.wasCalm(Date.parse(until) - grace * 1000, Date.parse(time))) return []
  const late = (status.containerStatuses ?? []).filter(
    ({ state }) => Date.parse(state?.terminated?.finishedAt ?? "") > end,
  )
  return [
    ...late.map(({ name }) => `container ${name} of ${nameOf(object)} ran on after ${until}`),
    // What still starts, such as an image that is pulled, is ended only when it has started.
    ...(Date.parse(time) > end + 10_000 ? [`${nameOf(object)} is removed at ${time}, and had until ${until}`] : []),
  ]
}
