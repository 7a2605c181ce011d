import type { ImageVolumeSource } from "../../../../pkg/api/core/v1/volume/volume.ts"
import { presentImage } from "../../../../pkg/cri/arriving-image.ts"
import type { VolumeMounter } from "../volume-setup.ts"

/** The first version of containerd that can mount images. */
const CONTAINERD = [2, 1]

/** Mounts the content of an image read-only; the runtime does the mount. KEP-4639. */
export const mountImage: VolumeMounter<ImageVolumeSource> = async ({
  context: { runtime },
  volume,
  source: { reference = "", pullPolicy },
}) => {
  if (reference === "") throw new Error(`image volume ${volume.name} has no reference`)
  const { runtimeName, runtimeVersion } = await runtime.containers.version()
  if (runtimeName === "containerd" && !isAtLeast(runtimeVersion, CONTAINERD))
    throw new Error(`image volumes need containerd ${CONTAINERD.join(".")} or newer, and this is ${runtimeVersion}`)
  const present = await presentImage(runtime, reference)
  if (present === undefined && pullPolicy === "Never")
    throw new Error(`image ${JSON.stringify(reference)} is not present with pull policy of Never`)
  if (present === undefined || pullPolicy === "Always") await runtime.images.pullImage({ image: reference })
  return { name: volume.name, hostPath: "", readOnly: true, image: reference }
}

function isAtLeast(version: string, [major = 0, minor = 0]: readonly number[]): boolean {
  const [, a, b] = /^v?(\d+)\.(\d+)/.exec(version) ?? []
  return Number(a) > major || (Number(a) === major && Number(b) >= minor)
}
