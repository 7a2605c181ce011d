import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { EmptyDirVolumeSource } from "../../../../pkg/api/core/v1/volume/volume.ts"
import { unitsOf } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { podSums } from "../../model/qos.ts"
import { ownershipFor } from "../ownership.ts"
import { volumeFolder } from "../volume-paths.ts"
import type { VolumeMounter } from "../volume-setup.ts"
import { smallest } from "../../../../pkg/lists/extremes.ts"

/** Mounts an empty folder: on the node's disk, or with medium Memory on its own tmpfs. Source: pkg/volume/emptydir. */
export const mountEmptyDir: VolumeMounter<EmptyDirVolumeSource> = async ({
  context: { config, runtime },
  pod,
  volume,
  source: { medium = "", sizeLimit },
}) => {
  if (medium !== "" && medium !== "Memory")
    throw new Error(
      `emptyDir medium ${JSON.stringify(medium)} is not supported: leave it empty for the disk, or use Memory`,
    )
  const hostPath = volumeFolder(config, pod, "empty-dir", volume.name)
  await runtime.volumes.makeEmptyDir(hostPath, {
    memoryBytes: medium === "Memory" ? memoryBytes(pod, sizeLimit, runtime.machine.memoryBytes) : undefined,
    ownership: ownershipFor(pod, false),
  })
  return { name: volume.name, hostPath, readOnly: false, selinuxRelabel: true, measured: "files" }
}

/**
 * Returns the size of the tmpfs in bytes: the least of the node's memory, the pod's memory limit and the sizeLimit of
 * the volume. Source:
 * pkg/volume/emptydir/empty_dir.go calculateEmptyDirMemorySize.
 */
export function memoryBytes(pod: Pod, sizeLimit: string | undefined, nodeBytes: number): number {
  const { memoryLimit } = podSums(pod)
  const wanted = sizeLimit === undefined ? 0 : unitsOf(sizeLimit)
  return Math.min(nodeBytes, smallest([memoryLimit, wanted].filter((bytes) => bytes > 0)))
}
