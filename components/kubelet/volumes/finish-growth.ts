import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  nodeResizeInProgress,
  resizeFailed,
  resizeFinished,
  resizeStateOf,
} from "../../../pkg/api/core/v1/persistentvolume/resize-status.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../context.ts"
import { localMountFolder } from "./volume-paths.ts"

/**
 * Does the node's part of the expansion of a claim that a pod of this node uses: enlarges the block device or its file
 * system, and writes the new size to the claim's status. Does nothing unless the claim waits for the node. Source:
 * pkg/volume/util/operationexecutor/node_expander.go.
 * @throws Error when the device cannot grow; the claim then has the condition NodeResizeError
 */
export async function finishGrowth(context: KubeletContext, pod: Pod, claim: PersistentVolumeClaim): Promise<void> {
  const state = resizeStateOf(claim.status)
  if (state !== "NodeResizePending" && state !== "NodeResizeInProgress") return
  const { client, clock, events, runtime, config } = context
  const volume = await client.get(PersistentVolume, { name: claim.spec.volumeName ?? "" })
  const { storage = "0" } = volume.spec.capacity ?? {}
  // Source of the type of patch, and of its resourceVersion: pkg/volume/util/resize_util.go PatchPVCStatus.
  const write = ({ metadata }: PersistentVolumeClaim, status: PersistentVolumeClaim["status"]) => {
    const { uid, resourceVersion } = metadata
    const body = { metadata: { uid, resourceVersion }, status: { $patch: "replace", ...status } }
    return client.patch(PersistentVolumeClaim, metadata, { type: "strategic", body }, { subresource: "status" })
  }
  const begun = state === "NodeResizePending" ? await write(claim, nodeResizeInProgress(claim.status)) : claim
  const name = JSON.stringify(volume.metadata.name)
  try {
    const { local, volumeMode } = volume.spec
    if (local !== undefined && volumeMode === "Block") await runtime.volumes.growDevice(local.path)
    else if (local !== undefined)
      await runtime.volumes.growLocal({ path: local.path, folder: localMountFolder(config, volume.metadata.name!) })
  } catch (err) {
    const reason = errorMessage(err)
    const failed = resizeFailed(begun.status, "NodeResizeError", reason, timestamp(clock))
    if (failed !== begun.status) await write(begun, failed)
    events.event(pod, "Warning", "VolumeResizeFailed", `NodeExpandVolume failed for volume ${name} : ${reason}`)
    throw err
  }
  const message = `MountVolume.NodeExpandVolume succeeded for volume ${name} ${config.nodeName}`
  events.event(pod, "Normal", "FileSystemResizeSuccessful", message)
  events.event(begun, "Normal", "FileSystemResizeSuccessful", message)
  await write(begun, resizeFinished(begun.status, storage))
}
