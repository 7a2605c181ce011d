import { whyWithout } from "../../../components/local-storage/project-quota.ts"
import { mountOf, mountPath, mountPoints, type MountPoint } from "../../../pkg/process/mount-points.ts"
import { found, warning, type Finding } from "./finding.ts"

/** What of mounts cannot be changed by k3ts for the folders of the machine. */
export const judgePropagation = (root: MountPoint | undefined): Finding =>
  root?.isShared === true
    ? found("mount propagation", "/ is shared")
    : warning(
        "mount propagation",
        "/ is mounted private: a pod that mounts a folder of the machine with mountPropagation Bidirectional fails " +
          "with `path … is mounted on / but it is not a shared mount`. This does not affect the folders of k3ts itself",
        "run at each boot, before the server: mount --make-rshared /",
      )

/** @param mount that of the folder of volumes */
export function judgeSizes(mount: MountPoint | undefined): Finding {
  const lacking = whyWithout(mount)
  return lacking === undefined
    ? found("sizes of volumes", `${mount?.path} has project quota`)
    : warning(
        "sizes of volumes",
        `not enforced for the class local-path: ${lacking}`,
        "keep volumes on XFS or ext4 that is mounted with prjquota (--default-local-storage-path), " +
          "and install the package quota",
      )
}

/** @param storage the folder of volumes */
export async function checkMounts(storage: string): Promise<Finding[]> {
  const mounts = await mountPoints()
  return [judgePropagation(mountOf("/", mounts)), judgeSizes(mountOf(await mountPath(storage), mounts))]
}
