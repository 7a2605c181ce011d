import type { LocalVolumeSource } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumesource.ts"
import { ownershipFor } from "../ownership.ts"
import type { VolumeMounter } from "../volume-setup.ts"

/** Mounts a folder of the node from a PersistentVolume, and gives it to the pod's fsGroup. Source: pkg/volume/local. */
export const mountLocal: VolumeMounter<LocalVolumeSource> = async ({
  context: { runtime },
  pod,
  volume,
  source: { path },
}) => {
  await runtime.volumes.checkHostPath(path, "Directory")
  const ownership = ownershipFor(pod, false, pod.spec.securityContext.fsGroupChangePolicy)
  if (ownership !== undefined) await runtime.volumes.setOwnership(path, ownership)
  return { name: volume.name, hostPath: path, readOnly: false, measured: "filesystem" }
}
