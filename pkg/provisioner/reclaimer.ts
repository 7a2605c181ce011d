import { normalize } from "node:path/posix"
import { isNotFound } from "../apimachinery/errors.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { PROVISIONED_BY } from "../api/core/v1/persistentvolume/volume-matching.ts"
import { MADE_ON } from "../api/storage/v1/local-path.ts"
import { defineController, watching, type Controller, type ReconcileContext } from "../controller/controller.ts"
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
    watches: [
      // A volume that had to wait for this one may go.
      watching(PersistentVolume, (volume, { informers }, _old, deleted) =>
        deleted
          ? informers
              .of(PersistentVolume)
              .by(byFolder, folderOf(volume) ?? "")
              .map(({ metadata }) => metadata.name!)
          : [],
      ),
    ],
    async reconcile(key, { client, informers, events }) {
      const volume = informers.of(PersistentVolume).get(key)
      if (volume === undefined || !isToGo(maker, volume)) return
      try {
        refuseShared(volume, informers.of(PersistentVolume).by(byFolder, folderOf(volume) ?? ""))
        await maker.remove(volume)
      } catch (err) {
        events.event(volume, "Warning", "VolumeFailedDelete", errorMessage(err))
        throw err
      }
      await removeVolume(volume, { client })
    },
  })

/** @throws Error where the storage of `volume` is, or contains, that of another PersistentVolume */
function refuseShared({ metadata }: PersistentVolume, atOrBelow: readonly PersistentVolume[]): void {
  const other = atOrBelow.find((one) => one.metadata.name !== metadata.name)
  if (other === undefined) return
  const name = JSON.stringify(other.metadata.name)
  throw new Error(`its folder has data of PersistentVolume ${name} too: delete that first, or keep both`)
}

const folderOf = ({ spec }: PersistentVolume): string | undefined => {
  const path = spec.local?.path ?? spec.hostPath?.path
  return path === undefined ? undefined : normalize(`/${path}/.`)
}

/** Volumes by their folders and the folders above: those of k3ts are never deeper down. */
const byFolder = {
  name: "volumes-by-folder",
  of: (volume: PersistentVolume): readonly string[] => {
    const names = folderOf(volume)?.split("/").slice(1, MOST_LEVELS)
    return names?.map((_, i) => `/${names.slice(0, i + 1).join("/")}`) ?? []
  },
}
const MOST_LEVELS = 32

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
