import type { NFSVolumeSource } from "../../../../pkg/api/core/v1/volume/volume.ts"
import { volumeFolder } from "../volume-paths.ts"
import type { VolumeMounter } from "../volume-setup.ts"

/** Mounts an export of an NFS server with the host's mount.nfs. Source: pkg/volume/nfs. */
export const mountNfs: VolumeMounter<NFSVolumeSource> = async ({
  context: { config, runtime },
  pod,
  volume,
  source: { server, path, readOnly = false },
  persistent,
}) => {
  // mount(8) and mount.nfs would take it as an option, such as `-T` for another fstab.
  if (server.startsWith("-")) throw new Error(`the NFS server ${JSON.stringify(server)} must not begin with "-"`)
  const folder = volumeFolder(config, pod, "nfs", volume.name)
  const options = [...(readOnly ? ["ro"] : []), ...(persistent?.mountOptions ?? [])]
  await runtime.volumes.mountNfs({ folder, server, path, options })
  return { name: volume.name, hostPath: folder, readOnly, measured: "filesystem" }
}
