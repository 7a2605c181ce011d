import { parseQuantity } from "../apimachinery/scalars/quantity.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  nodeResizePending,
  PRE_RESIZE_CAPACITY,
  resizeBegun,
  resizeFailed,
  resizeFinished,
  resizeStateOf,
} from "../api/core/v1/persistentvolume/resize-status.ts"
import { isReservedFor, PROVISIONED_BY, requestedSize } from "../api/core/v1/persistentvolume/volume-matching.ts"
import { MADE_ON } from "../api/storage/v1/local-path.ts"
import { timestamp } from "../clock/clock.ts"
import { defineController, type Controller, type ReconcileContext } from "../controller/controller.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { VolumeMaker } from "./volume-maker.ts"

/**
 * Enlarges the volumes of claims that request more than they have. If the node has to do a part of it, the claim's
 * status becomes NodeResizePending, and the kubelet sets the new size. Source: kubernetes-csi/external-resizer
 * pkg/controller/expand_and_recover.go; KEP-284, KEP-1790.
 */
export const resizer = (name: string, maker: VolumeMaker): Controller<PersistentVolumeClaim> =>
  defineController<PersistentVolumeClaim>({
    name,
    reconciles: PersistentVolumeClaim,
    concerns: (claim, { informers }) =>
      isTooSmall(claim) || volumeOf(claim, informers)?.metadata.annotations?.[PRE_RESIZE_CAPACITY] !== undefined,
    watches: [{ resource: PersistentVolume, keys: () => [] }],
    async reconcile(key, context) {
      const claim = context.informers.of(PersistentVolumeClaim).get(key)
      const volume = claim === undefined ? undefined : volumeOf(claim, context.informers)
      const { annotations } = volume?.metadata ?? {}
      if (claim === undefined || volume === undefined || annotations?.[PROVISIONED_BY] !== maker.name) return
      if (!maker.reaches(annotations[MADE_ON]) || !isReservedFor(volume, claim)) return
      if (isTooSmall(claim)) await enlarge(claim, volume, maker, context)
      else if (hasSizeOf(claim, volume)) await forgetEarlierSize(volume, context)
    },
  })

/** Enlarges the storage first, then the volume, then the claim, so that the claim never shows more than there is. */
async function enlarge(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  maker: VolumeMaker,
  { client, clock, events }: ReconcileContext,
): Promise<void> {
  const storage = nextSize(claim, volume)
  if (storage === undefined) return
  const now = timestamp(clock)
  const write = (from: PersistentVolumeClaim, status: PersistentVolumeClaim["status"]) =>
    client.updateStatus(PersistentVolumeClaim, { ...from, status })
  const { allocatedResources } = claim.status
  // A repeated attempt writes the same status as before, and so nothing: its own write would end the wait before the
  // next one.
  const isRetry =
    resizeStateOf(claim.status) === "ControllerResizeInProgress" && allocatedResources?.["storage"] === storage
  const begun = isRetry ? claim : await write(claim, resizeBegun(claim.status, storage, now))
  events.event(begun, "Normal", "Resizing", `External resizer is resizing volume ${volume.metadata.name}`)
  let onNode: boolean
  try {
    onNode = (await maker.resize?.(volume, storage))?.onNode ?? false
    await client.update(PersistentVolume, grown(volume, storage, onNode ? claim : undefined))
  } catch (err) {
    const reason = errorMessage(err)
    const failed = resizeFailed(begun.status, "ControllerResizeError", reason, now)
    if (failed !== begun.status) await write(begun, failed)
    const about = `resize volume ${JSON.stringify(volume.metadata.name)} by resizer ${JSON.stringify(maker.name)}`
    events.event(begun, "Warning", "VolumeResizeFailed", `${about} failed: ${reason}`)
    throw err
  }
  if (onNode) {
    await write(begun, nodeResizePending(begun.status, now))
    events.event(claim, "Normal", "FileSystemResizeRequired", "Require file system resize of volume on node")
  } else {
    await write(begun, resizeFinished(begun.status, storage))
    events.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")
  }
}

/**
 * Returns the size to which the volume is to grow now; undefined while the node still has to finish an earlier resize.
 */
function nextSize({ spec, status }: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  const wanted = spec.resources.requests!["storage"]!
  const begun = status.allocatedResources?.["storage"]
  if (resizeStateOf(status)?.startsWith("NodeResize") !== true) return wanted
  return nanoOf(volume.spec.capacity?.["storage"]) >= nanoOf(begun ?? wanted) ? undefined : (begun ?? wanted)
}

/**
 * Returns the enlarged volume. `before` is the claim that is saved with the volume until the node has done its part.
 */
function grown(volume: PersistentVolume, storage: string, before?: PersistentVolumeClaim): PersistentVolume {
  const { annotations } = volume.metadata
  const kept = annotations?.[PRE_RESIZE_CAPACITY] ?? before?.status.capacity?.["storage"]
  return {
    ...volume,
    metadata:
      before === undefined || kept === undefined
        ? volume.metadata
        : { ...volume.metadata, annotations: { ...annotations, [PRE_RESIZE_CAPACITY]: kept } },
    spec: { ...volume.spec, capacity: { ...volume.spec.capacity, storage } },
  }
}

async function forgetEarlierSize(volume: PersistentVolume, { client }: ReconcileContext): Promise<void> {
  const { [PRE_RESIZE_CAPACITY]: before, ...annotations } = volume.metadata.annotations ?? {}
  if (before === undefined) return
  await client.update(PersistentVolume, { ...volume, metadata: { ...volume.metadata, annotations } })
}

const volumeOf = (
  { spec }: PersistentVolumeClaim,
  informers: ReconcileContext["informers"],
): PersistentVolume | undefined => informers.of(PersistentVolume).get(spec.volumeName ?? "")

const nanoOf = (size: string | undefined): bigint => parseQuantity(size ?? "0")?.nano ?? 0n

/** Returns whether the claim is bound and requests more than it has. */
const isTooSmall = (claim: PersistentVolumeClaim): boolean =>
  claim.status.phase === "Bound" &&
  requestedSize(claim) > (parseQuantity(claim.status.capacity?.["storage"] ?? "")?.nano ?? requestedSize(claim))

const hasSizeOf = ({ status }: PersistentVolumeClaim, { spec }: PersistentVolume): boolean =>
  nanoOf(status.capacity?.["storage"]) >= nanoOf(spec.capacity?.["storage"])
