import type { Node } from "../../../api/core/v1/node/node.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import type { BoundVolume } from "./bound-volumes.ts"
import type { OpenClaim } from "./open-claims.ts"

/** All that placement depends on. */
export interface Place {
  readonly nodes: readonly Node[]
  /** The pods that take room on nodes, of all namespaces. */
  readonly pods: readonly Pod[]
  /** The labels of namespaces, where they could be read. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined
  readonly volumes: readonly BoundVolume[]
  readonly openClaims: readonly OpenClaim[]
  /** What keeps more CSI volumes from a node. */
  readonly volumeLimits: (node: string) => readonly string[]
}
