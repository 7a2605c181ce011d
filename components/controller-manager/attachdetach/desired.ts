import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { CSIDriver } from "../../../pkg/api/storage/v1/csidriver.ts"
import { keyFrom, type Index, type Informers } from "../../../pkg/client/informer.ts"
import { csiVolumeName, isDoneWithVolumes, type CsiSource } from "../../../pkg/pods/csi-volumes.ts"
import { claimNamesOf } from "../../../pkg/pods/pod-claims.ts"
import { podsByClaim } from "../persistentvolume/indexes.ts"

/** A volume that pods on a node need. */
export interface WantedVolume {
  /** Its name in the status of Nodes. */
  readonly name: string
  readonly csi: CsiSource
  readonly volume: PersistentVolume
  readonly pods: readonly Pod[]
}

/** Pods with claims, by their node. Most pods have none. */
const claimingPodsByNode: Index<Pod> = {
  name: "claiming-by-node",
  of: (pod) => (pod.spec.nodeName && claimNamesOf(pod).length > 0 ? [pod.spec.nodeName] : []),
}

/**
 * Returns the volumes that must be attached to a node, by their names. Source: ProcessPodVolumes in
 * pkg/controller/volume/attachdetach/util.
 */
export function wantedOn(node: string, informers: Informers): ReadonlyMap<string, WantedVolume> {
  const wanted = new Map<string, WantedVolume>()
  for (const pod of informers.of(Pod).by(claimingPodsByNode, node)) {
    if (isDoneWithVolumes(pod)) continue
    for (const volume of volumesOf(pod, informers)) {
      const csi = attachable(volume, informers)
      if (csi === undefined) continue
      const name = csiVolumeName(csi)
      wanted.set(name, { name, csi, volume, pods: [...(wanted.get(name)?.pods ?? []), pod] })
    }
  }
  return wanted
}

/** Returns the source of a volume whose driver attaches volumes to nodes; a driver without a CSIDriver does. */
function attachable({ spec: { csi } }: PersistentVolume, informers: Informers): CsiSource | undefined {
  if (csi === undefined) return undefined
  return informers.of(CSIDriver).get(csi.driver)?.spec.attachRequired === false ? undefined : csi
}

/** Returns the volumes to which the claims of a pod are bound. */
function volumesOf(pod: Pod, informers: Informers): readonly PersistentVolume[] {
  return claimNamesOf(pod).flatMap((name) => {
    const claim = informers.of(PersistentVolumeClaim).get(`${pod.metadata.namespace}/${name}`)
    if (claim?.status.phase !== "Bound") return []
    const volume = informers.of(PersistentVolume).get(claim.spec.volumeName ?? "")
    return volume?.spec.claimRef?.uid === claim.metadata.uid && volume !== undefined ? [volume] : []
  })
}

/** Returns the pods on nodes that use a volume. */
export function podsUsing({ spec: { claimRef } }: PersistentVolume, informers: Informers): readonly Pod[] {
  if (claimRef === undefined) return []
  return informers
    .of(Pod)
    .by(podsByClaim, keyFrom(claimRef))
    .filter((pod) => pod.spec.nodeName && !isDoneWithVolumes(pod))
}

/** Whether several nodes may have the volume at once. Source: pkg/volume/util IsMultiAttachAllowed. */
export function isShared({ spec: { accessModes = [] } }: PersistentVolume): boolean {
  return accessModes.length === 0 || accessModes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany")
}

/** Returns the names of the nodes of pods. */
export const nodesOf = (pods: readonly Pod[]): readonly string[] => [
  ...new Set(pods.flatMap(({ spec }) => (spec.nodeName ? [spec.nodeName] : []))),
]
