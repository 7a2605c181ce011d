import type { HostPathVolumeSource } from "../../../../pkg/api/core/v1/volume/volume.ts"
import type { VolumeMounter } from "../volume-setup.ts"

/** Mounts a path of the node; its owner and mode are not changed. Source: pkg/volume/hostpath. */
export const mountHostPath: VolumeMounter<HostPathVolumeSource> = async ({
  context: { runtime },
  volume,
  source: { path, type = "" },
}) => {
  if (path.split("/").includes("..")) throw new Error(`hostPath ${path} must not contain '..'`)
  await runtime.volumes.checkHostPath(path, type)
  return { name: volume.name, hostPath: path, readOnly: false }
}
