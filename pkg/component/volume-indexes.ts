import type { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { storageClassOf } from "../api/core/v1/persistentvolume/volume-matching.ts"
import type { VolumeAttachment } from "../api/storage/v1/volumeattachment.ts"
import { keyFrom, type Index } from "../client/informer.ts"

/** How controllers and the scheduler find volumes by claims and classes, and attachments by nodes. */

/** Volumes without a claim, by their class. */
export const freeVolumesByClass: Index<PersistentVolume> = {
  name: "free-by-class",
  of: (volume) => (volume.spec.claimRef === undefined ? [storageClassOf(volume)] : []),
}

/** Volumes that are bound or reserved, by the key of the claim. */
export const volumesByClaim: Index<PersistentVolume> = {
  name: "claim",
  of: ({ spec: { claimRef } }) => (claimRef === undefined ? [] : [keyFrom(claimRef)]),
}

export const attachmentsByNode: Index<VolumeAttachment> = { name: "node", of: ({ spec }) => [spec.nodeName] }
