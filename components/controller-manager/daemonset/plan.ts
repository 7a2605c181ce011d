import type { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

/** Pods to delete, and nodes that get a pod. */
export interface Plan {
  readonly remove: readonly Pod[]
  readonly create: readonly string[]
  /** Milliseconds until a failed pod may be replaced. */
  readonly retryIn?: number | undefined
}

/** A DaemonSet with the nodes of the cluster and its pods on them. */
export interface Daemons {
  readonly set: DaemonSet
  /** The hash of the current revision. */
  readonly hash: string
  readonly nodes: readonly Node[]
  readonly podsOn: ReadonlyMap<string, readonly Pod[]>
}
