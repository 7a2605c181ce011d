import type { LocalVolumeSource } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumesource.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ownershipFor } from "../ownership.ts"
import { localLink, localMountFolder, podsFolder } from "../volume-paths.ts"
import type { VolumeMounter, VolumeSetup } from "../volume-setup.ts"

/**
 * Mounts a folder of the node, or the file system of a block device, from a PersistentVolume, and gives it to the pod's
 * fsGroup. Source: pkg/volume/local MountDevice and SetUpAt.
 */
export const mountLocal: VolumeMounter<LocalVolumeSource> = async (setup) => {
  const {
    context: { config, runtime },
    pod,
    volume,
    source: { path, fsType = "" },
    persistent,
  } = setup
  if (persistent === undefined) throw new Error("a local volume is used through a claim")
  const { name, mountOptions, readOnly } = persistent
  const hostPath = await runtime.volumes.mountLocal({
    path,
    folder: localMountFolder(config, name),
    link: localLink(config, pod.metadata.uid!, name),
    pods: podsFolder(config),
    fsType: fsType || "ext4",
    options: [...(readOnly ? ["ro"] : []), ...mountOptions],
  })
  await ownFor(setup, hostPath)
  return { name: volume.name, hostPath, readOnly: false, measured: "filesystem" }
}

/**
 * Gives the folder to the pod's fsGroup when the pod is the first to use it. Another pod may be writing there
 * otherwise: it keeps what it has, and an event says so.
 */
async function ownFor({ context, pod, persistent, users }: VolumeSetup<LocalVolumeSource>, path: string) {
  const { uid = "" } = pod.metadata
  const isUsed = users.add(path, uid)
  const ownership = ownershipFor(pod, false, pod.spec.securityContext.fsGroupChangePolicy)
  if (ownership === undefined || persistent?.readOnly === true || hasRun(pod)) return
  const { volumes } = context.runtime
  if (!isUsed) return volumes.setOwnership(path, ownership)
  const group = await volumes.groupOf(path)
  if (group === undefined || group === ownership.group) return
  context.events.event(
    pod,
    "Warning",
    "AlreadyMountedVolume",
    `The requested fsGroup is ${ownership.group}, but the volume ${persistent?.name ?? ""} has GID ${group}. ` +
      "The volume may not be shareable.",
  )
}

/** Whether a container of the pod was started, so that its volumes were mounted before the kubelet was restarted. */
const hasRun = ({ status: { initContainerStatuses = [], containerStatuses = [] } }: Pod): boolean =>
  [...initContainerStatuses, ...containerStatuses].some(({ containerID = "" }) => containerID !== "")
