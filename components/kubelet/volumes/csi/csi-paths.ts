import { createHash } from "node:crypto"
import { join } from "node:path"
import type { CsiSource } from "../../../../pkg/pods/csi-volumes.ts"
import type { KubeletConfig } from "../../model/config.ts"
import { volumesFolder } from "../volume-paths.ts"

/** Returns the folder in which a pod's volumes of CSI drivers have a folder each, named like its PersistentVolume. */
export const csiFolder = (config: KubeletConfig, podUid: string): string =>
  join(volumesFolder(config, podUid), "kubernetes.io~csi")

/** Returns where a pod sees its volume, below the volume's folder. Source: pkg/volume/csi getTargetPath. */
export const targetIn = (folder: string): string => join(folder, "mount")

/** Returns the file in which a volume's folder says what it is. Source: pkg/volume/csi volDataFileName. */
export const dataFileIn = (folder: string): string => join(folder, "vol_data.json")

/** Returns the folder at which the node has a volume, for all of its pods. Source: pkg/volume/csi makeDeviceMountPath. */
export const stagingPath = ({ root }: KubeletConfig, { driver, volumeHandle }: CsiSource): string =>
  join(
    root,
    "plugins/kubernetes.io/csi",
    driver,
    createHash("sha256").update(volumeHandle).digest("hex"),
    "globalmount",
  )
