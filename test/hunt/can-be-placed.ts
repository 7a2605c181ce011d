import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../../components/cluster/testing/testing.ts"
import { hindrances } from "./fits.ts"
import { LATE } from "./objects/names.ts"
import type { World } from "./world.ts"

/** Whether the scheduler should have placed the pod: its claims can be had, and it fits some node. */
export function canBePlaced(pod: Pod, { nodes, pods, claims, volumes }: World): boolean {
  const used = claimsOf(pod, claims)
  const canBeHad = used.every(
    (claim) =>
      claim !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      (claim.status.phase === "Bound" ? volumeOf(claim, volumes) !== undefined : claim.spec.storageClassName === LATE),
  )
  const isReachable = (node: Node) =>
    used.every((claim) => {
      const volume = claim === undefined ? undefined : volumeOf(claim, volumes)
      return volume === undefined || reaches(node, volume)
    })
  return canBeHad && nodes.some((node) => isReachable(node) && hindrances(pod, node, nodes, pods).length === 0)
}

/** Returns the pod's claims; undefined for those that do not exist. */
const claimsOf = (
  { metadata, spec }: Pod,
  claims: readonly PersistentVolumeClaim[],
): readonly (PersistentVolumeClaim | undefined)[] =>
  (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: used }) =>
    used === undefined
      ? []
      : [claims.find((one) => one.metadata.namespace === metadata.namespace && one.metadata.name === used.claimName)],
  )

const volumeOf = (
  { spec }: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined => volumes.find(({ metadata }) => metadata.name === spec.volumeName)

/** Whether a volume's own affinity lets pods use it from the node. */
const reaches = ({ metadata: { labels = {} } }: Node, { spec }: PersistentVolume): boolean => {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms
  return (
    terms === undefined ||
    terms.some(({ matchExpressions = [] }) =>
      matchExpressions.every(({ key, values = [] }) => labels[key] !== undefined && values.includes(labels[key])),
    )
  )
}
