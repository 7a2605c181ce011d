import type { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import {
  all,
  bounds,
  byCreation,
  desiredNoted,
  isActive,
  maxNoted,
  scaleReplicaSet,
  specReplicas,
  type ReplicaSets,
} from "./replicasets.ts"

/**
 * Whether the Deployment was scaled since its active ReplicaSets were. Source: isScalingEvent. Differs from upstream:
 * false for a Recreate Deployment with several active sets, for which nothing is scaled, so that upstream checks for
 * ever.
 */
export function wasScaled(deployment: Deployment, sets: ReplicaSets): boolean {
  const active = all(sets).filter(isActive)
  if (deployment.spec.strategy.type === "Recreate" && active.length > 1) return false
  return active.some((rs) => desiredNoted(rs) !== undefined && desiredNoted(rs) !== deployment.spec.replicas)
}

/**
 * Distributes a changed number of replicas to the ReplicaSets: a single active set gets all of them; during a rollout
 * each set gets its share, so that scaling does not spread a bad new version. Source: pkg/controller/deployment/sync.go
 * scale.
 */
export async function scaleProportionally(
  deployment: Deployment,
  sets: ReplicaSets,
  context: ReconcileContext,
): Promise<void> {
  const wanted = deployment.spec.replicas
  const active = all(sets).filter(isActive)
  if (active.length <= 1) {
    const only = active[0] ?? sets.current ?? [...sets.old].sort(byCreation).at(-1)
    if (only !== undefined) await scaleReplicaSet(deployment, only, wanted, context)
    return
  }
  if (sets.current !== undefined && isSaturated(deployment, sets.current)) {
    for (const rs of sets.old.filter(isActive)) await scaleReplicaSet(deployment, rs, 0, context)
    return
  }
  if (deployment.spec.strategy.type !== "RollingUpdate") return
  for (const [rs, replicas] of shares(deployment, active)) await scaleReplicaSet(deployment, rs, replicas, context)
}

const isSaturated = (deployment: Deployment, rs: ReplicaSet): boolean =>
  desiredNoted(rs) === deployment.spec.replicas &&
  rs.spec.replicas === deployment.spec.replicas &&
  rs.status.availableReplicas === deployment.spec.replicas

/**
 * Returns the new size of each active set. The remainder of rounding goes to the largest set: the newest of equals when
 * growing, the oldest when shrinking.
 */
export function shares(deployment: Deployment, active: readonly ReplicaSet[]): ReadonlyMap<ReplicaSet, number> {
  const allowed = deployment.spec.replicas > 0 ? deployment.spec.replicas + bounds(deployment).maxSurge : 0
  const toAdd = allowed - specReplicas(active)
  const ordered = [...active].sort(
    (a, b) => b.spec.replicas - a.spec.replicas || (toAdd > 0 ? byCreation(b, a) : byCreation(a, b)),
  )
  const sizes = new Map<ReplicaSet, number>()
  let added = 0
  for (const rs of ordered) {
    const share = toAdd === 0 ? 0 : clamp(fraction(deployment, rs), toAdd - added)
    sizes.set(rs, rs.spec.replicas + share)
    added += share
  }
  const [largest] = ordered
  if (largest !== undefined) sizes.set(largest, Math.max(0, sizes.get(largest)! + toAdd - added))
  return sizes
}

/** Returns how many replicas a set gains or loses to keep its proportion. */
function fraction(deployment: Deployment, rs: ReplicaSet): number {
  if (deployment.spec.replicas === 0) return -rs.spec.replicas
  const total = deployment.spec.replicas + bounds(deployment).maxSurge
  const before = maxNoted(rs) || deployment.status.replicas || total
  return Math.round((rs.spec.replicas * total) / before) - rs.spec.replicas
}

const clamp = (share: number, left: number): number => (left > 0 ? Math.min(share, left) : Math.max(share, left))
