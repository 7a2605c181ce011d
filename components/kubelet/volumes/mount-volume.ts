import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { KubeletContext } from "../context.ts"
import type { MountedVolume } from "./mounted-volume.ts"
import { mountClaim, mountEphemeral } from "./claim.ts"
import { mountEmptyDir } from "./empty-dir.ts"
import { mountHostPath } from "./host-path.ts"
import { mountImage } from "./image.ts"
import { mountNfs } from "./nfs.ts"

/**
 * Makes a volume whose contents are not the API's, or finds it made. @throws Error whose message says why it cannot be
 */
export async function mountVolume(context: KubeletContext, pod: Pod, volume: Volume): Promise<MountedVolume> {
  const setup = { context, pod, volume }
  const { emptyDir, hostPath, nfs, persistentVolumeClaim, ephemeral, image } = volume
  if (emptyDir !== undefined) return mountEmptyDir({ ...setup, source: emptyDir })
  if (hostPath !== undefined) return mountHostPath({ ...setup, source: hostPath })
  if (nfs !== undefined) return mountNfs({ ...setup, source: nfs })
  if (persistentVolumeClaim !== undefined) return mountClaim({ ...setup, source: persistentVolumeClaim })
  if (ephemeral !== undefined) return mountEphemeral({ ...setup, source: ephemeral })
  if (image !== undefined) return mountImage({ ...setup, source: image })
  const kind = Object.keys(volume).find((field) => field !== "name")
  if (kind === undefined) return mountEmptyDir({ ...setup, source: {} })
  throw new Error(
    `volumes of kind ${kind} are not supported: use configMap, secret, projected, downwardAPI, emptyDir, ` +
      "hostPath, nfs, or a claim of a hostPath, local or nfs volume",
  )
}
