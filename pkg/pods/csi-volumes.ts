import { createHash } from "node:crypto"
import type { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import type { Pod } from "../api/core/v1/pod/pod.ts"

/** A volume of a CSI driver. */
export type CsiSource = Pick<NonNullable<PersistentVolume["spec"]["csi"]>, "driver" | "volumeHandle">

/** Returns the name of a volume in the status of Nodes. Source: pkg/volume/util GetUniqueVolumeName, pkg/volume/csi. */
export const csiVolumeName = ({ driver, volumeHandle }: CsiSource): string =>
  `kubernetes.io/csi/${driver}^${volumeHandle}`

/** Returns the name of the VolumeAttachment for a volume on a node. Source: pkg/volume/csi getAttachmentName. */
export const attachmentName = ({ driver, volumeHandle }: CsiSource, node: string): string =>
  `csi-${createHash("sha256").update(`${volumeHandle}${driver}${node}`).digest("hex")}`

/**
 * Whether a pod needs its volumes no more: it has ended, or it is deleted and no container runs. Source:
 * pkg/volume/util IsPodTerminated.
 */
export const isDoneWithVolumes = ({ metadata, status }: Pod): boolean =>
  status.phase === "Failed" ||
  status.phase === "Succeeded" ||
  (metadata.deletionTimestamp !== undefined &&
    (status.containerStatuses ?? []).every(
      ({ state }) => state.terminated !== undefined || state.waiting !== undefined,
    ))
