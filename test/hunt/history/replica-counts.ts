import type { Pod, ReplicaSet } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { isPodActive } from "../../../pkg/pods/pod-state.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

/** A ReplicaSet or a ReplicationController creates no pod above its replicas. Source: replica_set.go manageReplicas. */
export const createsNoMoreThanReplicas: WriteInvariant = (write, seen) => {
  const { object, type } = write
  const owner = controllerOf(object)
  if (object.kind !== "Pod" || type !== "create" || owner === undefined) return []
  if (!isBy(write, "replicaset-controller") && !isBy(write, "replication-controller")) return []
  const sets = seen.recent<ReplicaSet>(owner.kind, owner.uid)
  if (sets.length === 0) return []
  const most = Math.max(...sets.map(({ spec }) => spec.replicas ?? 1))
  const active = seen.all<Pod>("Pod").filter((pod) => isPodActive(pod) && controllerOf(pod)?.uid === owner.uid).length
  return active > most ? [`${nameOf(sets.at(-1)!)} wants ${most} pods and makes the ${active}th`] : []
}
