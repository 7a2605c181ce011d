import { mountClaim, mountEphemeral } from "./types/claim.ts"
import { mountEmptyDir } from "./types/empty-dir.ts"
import { mountHostPath } from "./types/host-path.ts"
import { mountImage } from "./types/image.ts"
import type { MountedVolume } from "../model/mounted-volume.ts"
import { mountNfs } from "./types/nfs.ts"
import { mountFirst, type VolumeSetup } from "./volume-setup.ts"

/** The mounters by the field of Volume whose type they mount. */
const MOUNTERS = {
  emptyDir: mountEmptyDir,
  hostPath: mountHostPath,
  nfs: mountNfs,
  persistentVolumeClaim: mountClaim,
  ephemeral: mountEphemeral,
  image: mountImage,
}

/**
 * Mounts a volume whose files do not come from the API (see api-volume.ts for those); does nothing when it is mounted.
 * @throws Error whose message says why the volume cannot be mounted
 */
export async function mountVolume(setup: Omit<VolumeSetup<unknown>, "source">): Promise<MountedVolume> {
  const { volume } = setup
  const mounted = mountFirst(MOUNTERS, volume, setup)
  if (mounted !== undefined) return mounted
  const type = Object.keys(volume).find((field) => field !== "name")
  if (type === undefined) return mountEmptyDir({ ...setup, source: {} })
  throw new Error(
    `volumes of kind ${type} are not supported: use configMap, secret, projected, downwardAPI, emptyDir, ` +
      "hostPath, nfs, or a claim of a hostPath, local or nfs volume",
  )
}
