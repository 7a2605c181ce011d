import { isNotFound } from "../apimachinery/errors.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { PROVISIONED_BY } from "../api/core/v1/persistentvolume/volume-matching.ts"
import { MADE_ON } from "../api/storage/v1/local-path.ts"
import { defineController, type Controller, type ReconcileContext } from "../controller/controller.ts"
import { errorMessage } from "../errors/error-message.ts"
import { STORAGE_FINALIZER } from "./provisioner.ts"
import type { VolumeMaker } from "./volume-maker.ts"

/**
 * Removes the storage, and then the PersistentVolume, of volumes whose claim is gone, and of volumes that are deleted
 * while no claim is bound to them. Only if the reclaim policy is Delete. Source: sig-storage-lib-external-provisioner
 * shouldDelete, deleteVolumeOperation; KEP-2644.
 */
export const reclaimer = (name: string, maker: VolumeMaker): Controller<PersistentVolume> =>
  defineController<PersistentVolume>({
    name,
    reconciles: PersistentVolume,
    concerns: (volume) => isToGo(maker, volume),
    async reconcile(key, { client, informers, events }) {
      const volume = informers.of(PersistentVolume).get(key)
      if (volume === undefined || !isToGo(maker, volume)) return
      try {
        await maker.remove(volume)
      } catch (err) {
        events.event(volume, "Warning", "VolumeFailedDelete", errorMessage(err))
        throw err
      }
      await removeVolume(volume, { client })
    },
  })

const isToGo = (maker: VolumeMaker, volume: PersistentVolume): boolean =>
  isToRemove(maker.name, volume) && maker.reaches(volume.metadata.annotations?.[MADE_ON])

/** Whether `provisioner` has made a volume whose storage is to be removed. */
export function isToRemove(provisioner: string, { metadata, spec, status }: PersistentVolume): boolean {
  if (metadata.annotations?.[PROVISIONED_BY] !== provisioner || spec.persistentVolumeReclaimPolicy !== "Delete")
    return false
  const { phase } = status
  return metadata.deletionTimestamp === undefined
    ? phase === "Released"
    : phase !== "Bound" && metadata.finalizers?.includes(STORAGE_FINALIZER) === true
}

/** Deletes a PersistentVolume whose storage is gone. */
export async function removeVolume(
  { metadata }: PersistentVolume,
  { client }: Pick<ReconcileContext, "client">,
): Promise<void> {
  try {
    if (metadata.deletionTimestamp === undefined) await client.delete(PersistentVolume, metadata)
    const current = await client.get(PersistentVolume, { name: metadata.name ?? "" })
    const { finalizers = [] } = current.metadata
    if (current.metadata.uid !== metadata.uid || !finalizers.includes(STORAGE_FINALIZER)) return
    const rest = finalizers.filter((finalizer) => finalizer !== STORAGE_FINALIZER)
    await client.update(PersistentVolume, { ...current, metadata: { ...current.metadata, finalizers: rest } })
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}
