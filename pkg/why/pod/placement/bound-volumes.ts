import type { Node } from "../../../api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../../api/core/v1/persistentvolume/persistentvolume.ts"
import { isEmptyTerm, matchesTerm } from "../../../api/core/v1/pod/scheduling/node-selection.ts"

/** A volume that a claim of the pod is bound to. */
export interface BoundVolume {
  readonly claim: string
  readonly volume: PersistentVolume
}

/** Whether a volume can be used on a node. */
export function isReachedFrom({ spec }: PersistentVolume, node: Node): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => !isEmptyTerm(term) && matchesTerm(term, node))
}

/** Returns which volumes of a pod cannot be used on a node. */
export const volumeObstacles = (volumes: readonly BoundVolume[], node: Node): readonly string[] =>
  volumes.flatMap(({ claim, volume }) =>
    isReachedFrom(volume, node)
      ? []
      : [
          `cannot reach volume ${volume.metadata.name ?? ""} of claim ${claim}, which is on another node${hostsOf(volume)}`,
        ],
  )

/** ` (node-3)`, where a volume is on named nodes. */
function hostsOf({ spec }: PersistentVolume): string {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? []
  const hosts = terms.flatMap(({ matchExpressions = [] }) =>
    matchExpressions.flatMap(({ key, operator, values = [] }) =>
      key === "kubernetes.io/hostname" && operator === "In" ? values : [],
    ),
  )
  return hosts.length === 0 ? "" : ` (${hosts.join(", ")})`
}
