import { parseQuantity } from "../apimachinery/quantity.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { PROVISIONED_BY, requestedSize } from "../api/core/v1/persistentvolume/volume-matching.ts"
import { timestamp } from "../clock/clock.ts"
import { defineController, type Controller } from "../controller/controller.ts"
import { MADE_ON } from "./reclaimer.ts"
import type { VolumeMaker } from "./volume-maker.ts"

/**
 * Makes the volumes of claims larger that ask for more than they have. The filesystem needs nothing on the node, so a
 * claim has its new size at once. Source: kubernetes-csi/external-resizer pkg/controller; KEP-284, KEP-1790.
 */
export const resizer = (name: string, maker: VolumeMaker): Controller<PersistentVolumeClaim> =>
  defineController<PersistentVolumeClaim>({
    name,
    reconciles: PersistentVolumeClaim,
    concerns: isTooSmall,
    watches: [{ resource: PersistentVolume, keys: () => [] }],
    async reconcile(key, { client, clock, informers, events }) {
      const claim = informers.of(PersistentVolumeClaim).get(key)
      if (claim === undefined || !isTooSmall(claim)) return
      const volume = informers.of(PersistentVolume).get(claim.spec.volumeName ?? "")
      const { annotations } = volume?.metadata ?? {}
      if (volume === undefined || annotations?.[PROVISIONED_BY] !== maker.name) return
      if (!maker.reaches(annotations[MADE_ON])) return
      const storage = claim.spec.resources.requests!["storage"]!
      const allocated = { ...claim.status, allocatedResources: { storage } }
      const begun = await client.updateStatus(PersistentVolumeClaim, {
        ...claim,
        status: {
          ...allocated,
          allocatedResourceStatuses: { storage: "ControllerResizeInProgress" },
          conditions: [...others(claim), { type: "Resizing", status: "True", lastTransitionTime: timestamp(clock) }],
        },
      })
      events.event(begun, "Normal", "Resizing", `External resizer is resizing volume ${volume.metadata.name}`)
      try {
        await maker.resize?.(volume, storage)
        await client.update(PersistentVolume, { ...volume, spec: { ...volume.spec, capacity: { storage } } })
      } catch (err) {
        const reason = err instanceof Error ? err.message : String(err)
        const about = `resize volume ${JSON.stringify(volume.metadata.name)} by resizer ${JSON.stringify(maker.name)}`
        events.event(begun, "Warning", "VolumeResizeFailed", `${about} failed: ${reason}`)
        throw err
      }
      const { allocatedResourceStatuses: _, ...status } = begun.status
      await client.updateStatus(PersistentVolumeClaim, {
        ...begun,
        status: { ...status, capacity: { storage }, conditions: others(begun) },
      })
      events.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")
    },
  })

/** A bound claim that asks for more than it has. */
const isTooSmall = (claim: PersistentVolumeClaim): boolean =>
  claim.status.phase === "Bound" &&
  requestedSize(claim) > (parseQuantity(claim.status.capacity?.["storage"] ?? "")?.nano ?? requestedSize(claim))

const others = ({ status }: PersistentVolumeClaim) =>
  (status.conditions ?? []).filter(({ type }) => type !== "Resizing" && type !== "FileSystemResizePending")
