import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { KubeletContext } from "../context.ts"
import { mountClaim, mountEphemeral } from "./types/claim.ts"
import { mountEmptyDir } from "./types/empty-dir.ts"
import { mountHostPath } from "./types/host-path.ts"
import { mountImage } from "./types/image.ts"
import type { MountedVolume } from "./mounted-volume.ts"
import { mountNfs } from "./types/nfs.ts"
import { mountFirst } from "./volume-setup.ts"

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
export async function mountVolume(context: KubeletContext, pod: Pod, volume: Volume): Promise<MountedVolume> {
  const setup = { context, pod, volume }
  const mounted = mountFirst(MOUNTERS, volume, setup)
  if (mounted !== undefined) return mounted
  const type = Object.keys(volume).find((field) => field !== "name")
  if (type === undefined) return mountEmptyDir({ ...setup, source: {} })
  throw new Error(
    `volumes of kind ${type} are not supported: use configMap, secret, projected, downwardAPI, emptyDir, ` +
      "hostPath, nfs, or a claim of a hostPath, local or nfs volume",
  )
}
