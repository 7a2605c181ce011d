/**
 * What is not wrong yet: the same that is a finding later is only under way at first. How long is what Kubernetes
 * itself says where it says something, as `kubectl rollout status` takes a Deployment for failed at its progress
 * deadline.
 */
import type { KubeObject } from "../apimachinery/resource.ts"
import { formatTime, parseTime } from "../apimachinery/scalars/time.ts"
import type { Finding, ObjectRef } from "./answer.ts"
import type { Ward } from "./doctor.ts"
import { DEPLOYMENTS } from "./reading/kinds.ts"

/** Controllers and schedulers act at once; within this another replica has the lease of one that died. */
export const REACTION_MS = 30_000

/**
 * What takes its time, with no bound that the API names: provisioners, load balancers, the first report of a node, an
 * init container. After that nobody can tell whether it will ever end, so it is no longer taken for well.
 */
export const USUAL_MS = 60_000

/** The default progressDeadlineSeconds of a Deployment, also for pods of others. Source: pkg/apis/apps/v1/defaults.go. */
export const PROGRESS_MS = 600_000

/**
 * Returns a finding of what has begun at `since`, and is not wrong until `until`: both in milliseconds. After that it
 * weighs what it weighed.
 */
export function underWay(one: Finding, now: number, since: number | undefined, until: number | undefined): Finding {
  if (since === undefined || until === undefined) return one
  const weight = now < until ? "under-way" : one.weight
  return { ...one, weight, since: formatTime(since), until: formatTime(until) }
}

/** The same for what may take `limitMs`. */
export const within = (one: Finding, now: number, since: number | undefined, limitMs: number): Finding =>
  underWay(one, now, since, since === undefined ? undefined : since + limitMs)

/** Returns findings of which none is under way any more, since the time for all of them together is over. */
export const overdue = (findings: readonly Finding[]): readonly Finding[] =>
  findings.map((one) => (one.weight === "under-way" ? { ...one, weight: "waiting" } : one))

/**
 * When an object was last changed by somebody who did not write its status, in milliseconds; when it was created where
 * that is not known.
 */
export function changedAt({ metadata }: KubeObject): number | undefined {
  const times = (metadata.managedFields ?? []).flatMap(({ subresource, time }) =>
    subresource === "status" ? [] : [parseTime(time ?? "")],
  )
  return latest([parseTime(metadata.creationTimestamp ?? ""), ...times])
}

export const latest = (times: readonly (number | undefined)[]): number | undefined =>
  times.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined)

/** How long a pod of a workload may take to become ready, in milliseconds. */
export async function progressMs(workload: ObjectRef, { reader }: Ward): Promise<number> {
  if (workload.kind !== DEPLOYMENTS.kind || workload.apiVersion !== DEPLOYMENTS.apiVersion) return PROGRESS_MS
  const deployment = await reader.get(DEPLOYMENTS, workload.namespace, workload.name)
  return (deployment?.spec.progressDeadlineSeconds ?? PROGRESS_MS / 1000) * 1000
}
