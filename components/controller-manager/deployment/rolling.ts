import type { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import {
  all,
  availableReplicas,
  bounds,
  isActive,
  newReplicas,
  scaleReplicaSet,
  specReplicas,
  type ReplicaSets,
} from "./replicasets.ts"

/**
 * Does one step of a rolling update: scales up, then down, within maxSurge and maxUnavailable. Returns whether it
 * scaled anything. Source: pkg/controller/deployment/rolling.go.
 */
export async function rollingStep(
  deployment: Deployment,
  sets: ReplicaSets,
  context: ReconcileContext,
): Promise<boolean> {
  if (sets.current !== undefined && (await resizeCurrent(deployment, sets, sets.current, context))) return true
  return shrinkOld(deployment, sets, context)
}

function resizeCurrent(
  deployment: Deployment,
  sets: ReplicaSets,
  current: ReplicaSet,
  context: ReconcileContext,
): Promise<boolean> {
  const wanted = deployment.spec.replicas
  return scaleReplicaSet(
    deployment,
    current,
    current.spec.replicas > wanted ? wanted : newReplicas(deployment, sets),
    context,
  )
}

async function shrinkOld(deployment: Deployment, sets: ReplicaSets, context: ReconcileContext): Promise<boolean> {
  const old = sets.old.filter(isActive)
  // Pods that a ReplicaSet has yet to take away count as available: what else may go is seen when they are gone.
  const isShrinking = old.some(({ spec, status }) => (status.availableReplicas ?? 0) > spec.replicas)
  if (old.length === 0 || isShrinking) return false
  const minAvailable = deployment.spec.replicas - bounds(deployment).maxUnavailable
  const currentUnavailable =
    sets.current === undefined ? 0 : sets.current.spec.replicas - (sets.current.status.availableReplicas ?? 0)
  // Pods that can be deleted without falling below minAvailable; new pods that are not available do not count.
  const room = specReplicas(all(sets)) - minAvailable - currentUnavailable
  if (room <= 0) return false

  const plan = new Map(old.map((rs) => [rs, rs.spec.replicas]))
  let left = room
  for (const rs of old) {
    // Unavailable pods are deleted first, because they serve no requests.
    const unavailable = rs.spec.replicas - (rs.status.availableReplicas ?? 0)
    const fewer = Math.min(left, Math.max(0, unavailable))
    plan.set(rs, rs.spec.replicas - fewer)
    left -= fewer
  }
  let spare = availableReplicas(all(sets)) - minAvailable
  for (const rs of old) {
    const fewer = Math.min(plan.get(rs)!, Math.max(0, spare))
    plan.set(rs, plan.get(rs)! - fewer)
    spare -= fewer
  }

  let scaled = false
  for (const [rs, replicas] of plan)
    if (replicas !== rs.spec.replicas) scaled = (await scaleReplicaSet(deployment, rs, replicas, context)) || scaled
  return scaled
}
