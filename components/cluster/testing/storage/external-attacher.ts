import { PersistentVolume } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { VolumeAttachment } from "../../../../pkg/api/storage/v1/volumeattachment.ts"
import { timestamp } from "../../../../pkg/clock/clock.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../../pkg/controller/controller.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"

/** The first and the longest wait after a failure. Source: retry-interval-start, retry-interval-max of the attacher. */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 300_000

/** What the attacher knows of an attachment. */
interface Progress {
  /** When the call that is under way ends, on the monotonic clock. */
  due?: number | undefined
  failures: number
}

/**
 * The attacher of a simulated driver: carries out its VolumeAttachments. Source: kubernetes-csi/external-attacher
 * pkg/controller/csi_handler.go.
 */
export const externalAttacher = (driver: SimulatedDriver): Controller<VolumeAttachment> => {
  const { name, attachMs, detachMs } = driver.spec
  const finalizer = `external-attacher/${name.replaceAll(".", "-")}`
  const known = new Map<string, Progress>()
  return defineController<VolumeAttachment>({
    name: `${name}-attacher`,
    reconciles: VolumeAttachment,
    workers: 10,
    concerns: ({ spec }) => spec.attacher === name,
    watches: [{ resource: PersistentVolume, keys: () => [] }],
    async reconcile(key, context) {
      const attachment = context.informers.of(VolumeAttachment).get(key)
      if (attachment === undefined) return
      const { metadata, status } = attachment
      const isGoing = metadata.deletionTimestamp !== undefined
      const uid = `${metadata.uid} ${isGoing ? "detach" : "attach"}`
      if (isGoing ? metadata.finalizers?.includes(finalizer) !== true : status.attached) return void known.delete(uid)
      const progress = known.get(uid) ?? { failures: 0 }
      known.set(uid, progress)
      const now = context.clock.monotonic()
      if (progress.due === undefined && !isGoing) await addFinalizer(attachment, finalizer, context)
      progress.due ??= now + (isGoing ? detachMs : attachMs)
      if (progress.due > now) return { requeueAfter: progress.due - now }
      progress.due = undefined
      if (isGoing) return detach(driver, attachment, finalizer, context)
      if (await attach(driver, attachment, context)) return
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** progress.failures++, LAST_RETRY_MS)
      progress.due = now + waitMs
      return { requeueAfter: waitMs }
    },
  })
}

async function addFinalizer(
  { metadata }: VolumeAttachment,
  finalizer: string,
  { client }: ReconcileContext,
): Promise<void> {
  const { finalizers = [] } = metadata
  if (finalizers.includes(finalizer)) return
  const body = { metadata: { finalizers: [...finalizers, finalizer] } }
  await client.patch(VolumeAttachment, metadata, { type: "merge", body })
}

/** Attaches a volume, and says so or why it could not be. Returns whether it is attached. */
async function attach(
  driver: SimulatedDriver,
  { metadata, spec }: VolumeAttachment,
  { client, clock, informers }: ReconcileContext,
): Promise<boolean> {
  const tell = (status: object) =>
    client.patch(VolumeAttachment, metadata, { type: "merge", body: { status } }, { subresource: "status" })
  try {
    const volume = informers.of(PersistentVolume).get(spec.source.persistentVolumeName ?? "")
    const { csi, accessModes = [] } = volume?.spec ?? {}
    if (csi === undefined)
      throw new Error(`could not get PersistentVolume ${JSON.stringify(spec.source.persistentVolumeName)} of a driver`)
    const isShared = accessModes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany")
    driver.attach(csi.volumeHandle, spec.nodeName, { isShared })
  } catch (err) {
    await tell({ attached: false, attachError: { time: timestamp(clock), message: errorMessage(err) } })
    return false
  }
  await tell({ attached: true, attachError: null })
  return true
}

async function detach(
  driver: SimulatedDriver,
  { metadata, spec }: VolumeAttachment,
  finalizer: string,
  { client, informers }: ReconcileContext,
): Promise<void> {
  const volume = informers.of(PersistentVolume).get(spec.source.persistentVolumeName ?? "")
  if (volume?.spec.csi !== undefined) driver.detach(volume.spec.csi.volumeHandle, spec.nodeName)
  const finalizers = (metadata.finalizers ?? []).filter((name) => name !== finalizer)
  await client.patch(VolumeAttachment, metadata, { type: "merge", body: { metadata: { finalizers } } })
}
