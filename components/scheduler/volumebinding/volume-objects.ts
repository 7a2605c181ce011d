import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { storageClassOf } from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { CSINode } from "../../../pkg/api/storage/v1/csinode.ts"
import { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { keyFrom, type Informers } from "../../../pkg/client/informer.ts"
import { attachmentsByNode, freeVolumesByClass, volumesByClaim } from "../../../pkg/component/volume-indexes.ts"

/** The objects that volume plugins read. */
export interface VolumeObjects {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined
  volume(name: string): PersistentVolume | undefined
  /** Volumes that the claim may get: those that name it, and those of its class that name none. */
  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[]
  storageClass(name: string): StorageClass | undefined
  csiNode(nodeName: string): CSINode | undefined
  /** Returns the VolumeAttachments of a node, attached or not. */
  attachments(nodeName: string): readonly VolumeAttachment[]
}

/** The kinds that volume plugins depend on. */
export const VOLUME_KINDS: readonly Resource[] = [
  PersistentVolumeClaim,
  PersistentVolume,
  StorageClass,
  CSINode,
  VolumeAttachment,
]

/** Returns what volume plugins read of the cluster. */
export const volumeObjects = (informers: Informers): VolumeObjects => ({
  claim: (namespace, name) => informers.of(PersistentVolumeClaim).get(`${namespace}/${name}`),
  volume: (name) => informers.of(PersistentVolume).get(name),
  volumesFor(claim) {
    const known = informers.of(PersistentVolume)
    return [
      ...known.by(volumesByClaim, keyFrom(claim.metadata)),
      ...known.by(freeVolumesByClass, storageClassOf(claim)),
    ]
  },
  storageClass: (name) => informers.of(StorageClass).get(name),
  csiNode: (nodeName) => informers.of(CSINode).get(nodeName),
  attachments: (nodeName) => informers.of(VolumeAttachment).by(attachmentsByNode, nodeName),
})
