import type { Job, Pod } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { isPodActive } from "../../../pkg/pods/pod-state.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

/**
 * A Job never has more active pods than its parallelism, nor more than the completions that are left; it creates none
 * while it is suspended, and none after it has ended. Source: job_controller.go manageJob.
 */
export const keepsParallelism: WriteInvariant = (write, seen) => {
  const { object, type } = write
  if (object.kind !== "Pod" || type !== "create" || !isBy(write, "job-controller")) return []
  const uid = controllerOf(object)?.uid
  const jobs = seen.recent<Job>("Job", uid)
  if (jobs.length === 0) return []
  const name = nameOf(jobs.at(-1)!)
  const active = seen.all<Pod>("Pod").filter((pod) => isPodActive(pod) && controllerOf(pod)?.uid === uid).length
  const most = Math.max(...jobs.map(({ spec }) => spec.parallelism ?? 1))
  const left = Math.max(
    ...jobs.map(({ spec, status }) =>
      spec.completions === undefined ? Infinity : spec.completions - (status.succeeded ?? 0),
    ),
  )
  return [
    ...(active > most ? [`${name} has ${active} active pods, with a parallelism of ${most}`] : []),
    ...(active > left ? [`${name} has ${active} active pods for the last ${left} completions`] : []),
    ...(jobs.every(({ spec }) => spec.suspend === true) ? [`${name} creates a pod though it is suspended`] : []),
    ...(jobs.every(hasEnded) ? [`${name} creates a pod though it has ended`] : []),
  ]
}

const hasEnded = ({ status }: Job): boolean =>
  status.conditions?.some(({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True") ===
  true
