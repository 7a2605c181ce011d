import type { ImageVolumeSource } from "../../../../pkg/api/core/v1/volume/volume.ts"
import type { VolumeMounter } from "../volume-setup.ts"

/** The first version of containerd that can mount images. */
const CONTAINERD = [2, 1]

/**
 * Mounts the content of an image read-only; the runtime does the mount. The image is found or pulled like those of
 * containers, with the pull secrets of the pod. KEP-4639.
 */
export const mountImage: VolumeMounter<ImageVolumeSource> = async ({
  context: { runtime },
  pod,
  images,
  signal,
  volume,
  source: { reference = "", pullPolicy },
}) => {
  if (reference === "") throw new Error(`image volume ${volume.name} has no reference`)
  const { runtimeName, runtimeVersion } = await runtime.containers.version()
  if (runtimeName === "containerd" && !isAtLeast(runtimeVersion, CONTAINERD))
    throw new Error(`image volumes need containerd ${CONTAINERD.join(".")} or newer, and this is ${runtimeVersion}`)
  const container = { image: reference, imagePullPolicy: pullPolicy }
  await images.ensure({ pod, container, fieldPath: undefined, sandbox: undefined, signal })
  return { name: volume.name, hostPath: "", readOnly: true, image: reference }
}

function isAtLeast(version: string, [major = 0, minor = 0]: readonly number[]): boolean {
  const [, a, b] = /^v?(\d+)\.(\d+)/.exec(version) ?? []
  return Number(a) > major || (Number(a) === major && Number(b) >= minor)
}
