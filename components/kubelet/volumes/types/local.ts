import type { LocalVolumeSource } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumesource.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ownershipFor } from "../ownership.ts"
import type { VolumeMounter, VolumeSetup } from "../volume-setup.ts"

/**
 * Mounts a folder of the node from a PersistentVolume, and gives it to the pod's fsGroup. Source: pkg/volume/local
 * SetUpAt.
 */
export const mountLocal: VolumeMounter<LocalVolumeSource> = async (setup) => {
  const { context, volume, source } = setup
  await context.runtime.volumes.checkHostPath(source.path, "Directory")
  await ownFor(setup)
  return { name: volume.name, hostPath: source.path, readOnly: false, measured: "filesystem" }
}

/**
 * Gives the folder to the pod's fsGroup when the pod is the first to use it. Another pod may be writing there
 * otherwise: it keeps what it has, and an event says so.
 */
async function ownFor({ context, pod, source: { path }, persistent, users }: VolumeSetup<LocalVolumeSource>) {
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
