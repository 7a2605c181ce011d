import type { Deployment, Pod, ReplicaSet } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { isPodActive } from "../../../pkg/pods/pod-state.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

/** Returns an IntOrString as a number of pods. */
export const resolved = (value: string | number | undefined, total: number, round: "up" | "down"): number =>
  typeof value === "string" && value.endsWith("%")
    ? Math[round === "up" ? "ceil" : "floor"]((total * Number(value.slice(0, -1))) / 100)
    : Number(value ?? 0)

/** Returns how many pods above its replicas a Deployment may have, and how many below. Source: deployment_util.go. */
export function fencesOf({ spec }: Deployment): { readonly surge: number; readonly unavailable: number } {
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {}
  const replicas = spec.replicas ?? 1
  const surge = resolved(maxSurge, replicas, "up")
  const unavailable = resolved(maxUnavailable, replicas, "down")
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

const available = ({ spec, status }: ReplicaSet): number => Math.min(spec.replicas ?? 1, status.availableReplicas ?? 0)

/**
 * A Deployment raises a ReplicaSet only up to its replicas and maxSurge, lowers one that has available pods only while
 * its replicas less maxUnavailable stay available, and with Recreate starts new pods when the old ones are gone.
 * Source: kubernetes pkg/controller/deployment/{rolling,recreate}.go.
 */
export const keepsTheRollout: WriteInvariant = (write, seen) => {
  const { object, previous, type } = write
  if (object.kind !== "ReplicaSet" || type === "delete" || !isBy(write, "deployment-controller")) return []
  const [set, before] = [object as ReplicaSet, previous as ReplicaSet | undefined]
  const rise = (set.spec.replicas ?? 1) - (before?.spec.replicas ?? 0)
  const uid = controllerOf(set)?.uid
  const deployments = seen.recent<Deployment>("Deployment", uid)
  if (rise === 0 || deployments.length === 0) return []
  const sets = seen.all<ReplicaSet>("ReplicaSet").filter((one) => controllerOf(one)?.uid === uid)
  const others = sets.filter(({ metadata }) => metadata.uid !== set.metadata.uid)
  const name = nameOf(deployments.at(-1)!)
  if (rise > 0) {
    const total = sets.reduce((sum, { spec }) => sum + (spec.replicas ?? 1), 0)
    const most = Math.max(
      ...deployments.map(
        (one) => (one.spec.replicas ?? 1) + (one.spec.strategy?.type === "Recreate" ? 0 : fencesOf(one).surge),
      ),
    )
    const isRecreated = deployments.every(({ spec }) => spec.strategy?.type === "Recreate")
    const left = seen
      .all<Pod>("Pod")
      .filter((pod) => isPodActive(pod) && others.some((other) => other.metadata.uid === controllerOf(pod)?.uid))
      .filter(({ metadata }) => seen.isOld("Pod", metadata.uid))
    return [
      ...(total > most ? [`${name} raises ${set.metadata.name} by ${rise} to ${total} pods of at most ${most}`] : []),
      ...(isRecreated && left.length > 0
        ? [`${name} is recreated, and starts ${set.metadata.name} beside ${left.map(nameOf).join()}`]
        : []),
    ]
  }
  const least = Math.min(...deployments.map((one) => (one.spec.replicas ?? 1) - fencesOf(one).unavailable))
  // While a Deployment is scaled, all its ReplicaSets are scaled, and recreated ones are ended at once.
  const isScaled = deployments.some(
    ({ spec, status }) => spec.replicas !== deployments[0]!.spec.replicas || status.observedGeneration === undefined,
  )
  if (isScaled || deployments.some(({ spec }) => spec.strategy?.type === "Recreate" || spec.paused === true)) return []
  const recent = (one: ReplicaSet) => seen.recent<ReplicaSet>("ReplicaSet", one.metadata.uid)
  const ofOthers = others.reduce((sum, one) => sum + Math.max(available(one), ...recent(one).map(available)), 0)
  const mine = recent(set).map(({ status }) => status.availableReplicas ?? 0)
  // Pods that another has preempted are seen to be gone at any time in between: the ReplicaSet may have none to lose.
  const was = Math.min(...mine, before?.spec.replicas ?? 0)
  const is = Math.min(Math.max(...mine), set.spec.replicas ?? 1)
  const surplus = sets.reduce((sum, { spec }) => sum + (spec.replicas ?? 1), 0) - rise
  const isOver = surplus > Math.max(...deployments.map((one) => (one.spec.replicas ?? 1) + fencesOf(one).surge))
  return !isOver && is < was && ofOthers + is < least
    ? [`${name} lowers ${set.metadata.name} by ${-rise}, and keeps ${ofOthers + is} available pods of ${least}`]
    : []
}
