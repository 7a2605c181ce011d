import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import {
  BOUND_BY_CONTROLLER,
  hasModeOf,
  PROVISIONED_BY,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { keyFrom, type Informers, type Key } from "../../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { setVolumePhase } from "./bind.ts"
import { volumesByClaim } from "../../../pkg/component/volume-indexes.ts"
import { podsByClaim } from "./indexes.ts"
import { IN_TREE, MIGRATED_TO, migratedVolume } from "./migration.ts"

/**
 * Keeps the phase of volumes: Available while no claim has them, Bound, Released when their claim is gone. What becomes
 * of a released one says its reclaim policy. One whose claim has got another volume is free again. Source: syncVolume
 * in pkg/controller/volume/persistentvolume/pv_controller.go.
 */
export const volumePhases = defineController<PersistentVolume>({
  name: "persistentvolume-phase-controller",
  eventSource: "persistentvolume-controller",
  reconciles: PersistentVolume,
  watches: [
    {
      resource: PersistentVolumeClaim,
      keys: ({ metadata }, { informers }) =>
        informers
          .of(PersistentVolume)
          .by(volumesByClaim, keyFrom(metadata))
          .map((volume) => keyFrom(volume.metadata)),
    },
    // A volume that is to be emptied waits for the pods that have it.
    { resource: Pod, keys: (pod, { informers }) => toBeEmptied(pod as Pod, informers) },
  ],
  async reconcile(key, context) {
    const { client, informers, events } = context
    const found = informers.of(PersistentVolume).get(key)
    if (found === undefined) return
    const migrated = migratedVolume(found)
    const volume = migrated === found ? found : await client.update(PersistentVolume, migrated)
    const { claimRef } = volume.spec
    if (claimRef === undefined || (claimRef.uid ?? "") === "") {
      await setVolumePhase(volume, "Available", client)
      return
    }
    const claim = await claimOf(claimRef, volume, context)
    if (claim === undefined) return release(volume, context)
    const { volumeName = "" } = claim.spec
    if (volumeName === volume.metadata.name) {
      await setVolumePhase(volume, "Bound", client)
    } else if (volumeName === "") {
      // The claim's own controller binds it, unless it cannot.
      if (hasModeOf(volume, claim)) return
      const [why, name] = ["due to incompatible volumeMode.", JSON.stringify(volume.metadata.name)]
      const about = JSON.stringify(claim.metadata.name)
      const mismatch = `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${about} ${why}`
      events.event(volume, "Warning", "VolumeMismatch", mismatch)
      const forClaim = `Cannot bind PersistentVolume ${name} to requested PersistentVolumeClaim ${why}`
      events.event(claim, "Warning", "VolumeMismatch", forClaim)
    } else if (isMadeForItsClaim(volume)) await release(volume, context)
    else await unbind(volume, context)
  },
})

function toBeEmptied(pod: Pod, informers: Informers): readonly Key[] {
  const claims = podsByClaim.of(pod)
  if (claims.length === 0) return claims
  return claims
    .flatMap((claim) => informers.of(PersistentVolume).by(volumesByClaim, claim))
    .filter(({ spec, status }) => spec.persistentVolumeReclaimPolicy === "Recycle" && status.phase === "Released")
    .map(({ metadata }) => keyFrom(metadata))
}

type ClaimRef = NonNullable<PersistentVolume["spec"]["claimRef"]>

/**
 * The claim that the volume names, asked of the API server before it is believed to be gone: the informer of claims may
 * lag behind that of volumes.
 */
async function claimOf(
  ref: ClaimRef,
  { status }: PersistentVolume,
  { client, informers }: ReconcileContext,
): Promise<PersistentVolumeClaim | undefined> {
  const known = informers.of(PersistentVolumeClaim).get(keyFrom(ref))
  if (known?.metadata.uid === ref.uid) return known
  const wasReleased = status.phase === "Released" || status.phase === "Failed"
  if (known === undefined && wasReleased) return undefined
  const current = await client
    .get(PersistentVolumeClaim, { namespace: ref.namespace, name: ref.name ?? "" })
    .catch((err: unknown) => {
      if (isNotFound(err)) return undefined
      throw err
    })
  return current?.metadata.uid === ref.uid ? current : undefined
}

const isMadeForItsClaim = ({ metadata, spec }: PersistentVolume): boolean =>
  metadata.annotations?.[PROVISIONED_BY] !== undefined && spec.persistentVolumeReclaimPolicy === "Delete"

/**
 * Its claim is gone. Whoever made the volume deletes it; there are no drivers here that could delete or empty another
 * one. Source: reclaimVolume.
 */
async function release(volume: PersistentVolume, context: ReconcileContext): Promise<void> {
  const { client, events } = context
  if (volume.status.phase === "Failed") return
  const released = await setVolumePhase(volume, "Released", client)
  if ((released.metadata.annotations?.[MIGRATED_TO] ?? "") !== "") return
  const { persistentVolumeReclaimPolicy: policy } = released.spec
  if (policy === "Recycle") {
    const users = usersOf(released, context)
    if (users.length > 0)
      return events.event(released, "Normal", "VolumeFailedRecycle", `Volume is used by pods: ${users.join(",")}`)
    return fail("VolumeFailedRecycle", "No recycler plugin found for the volume!")
  }
  const reason = policy === "Delete" ? whyNotDeleted(released) : undefined
  if (reason !== undefined) return fail("VolumeFailedDelete", reason)

  async function fail(reason: string, message: string): Promise<void> {
    events.event(await setVolumePhase(released, "Failed", client, message), "Warning", reason, message)
  }
}

/** Pods that still have the volume, as `<namespace>/<name>`; none where a new claim has its claim's name. */
function usersOf({ spec: { claimRef = {} } }: PersistentVolume, { informers }: ReconcileContext): readonly string[] {
  if (informers.of(PersistentVolumeClaim).get(keyFrom(claimRef)) !== undefined) return []
  const pods = informers.of(Pod).by(podsByClaim, keyFrom(claimRef))
  return pods
    .filter((pod) => !isPodTerminal(pod))
    .map(({ metadata }) => keyFrom(metadata))
    .sort()
}

/** Undefined where whoever made the volume, or its driver, deletes it. Source: findDeletablePlugin. */
function whyNotDeleted({ metadata, spec }: PersistentVolume): string | undefined {
  const maker = metadata.annotations?.[PROVISIONED_BY] ?? ""
  if (maker !== "") return maker.startsWith(IN_TREE) ? `no volume plugin matched name: ${maker}` : undefined
  if (spec.csi !== undefined) return undefined
  const name = JSON.stringify(metadata.name)
  return `error getting deleter volume plugin for volume ${name}: no deletable volume plugin matched`
}

/** Source: unbindVolume. A volume that somebody reserved for the claim by its name stays so. */
async function unbind(volume: PersistentVolume, { client }: ReconcileContext): Promise<void> {
  const { [BOUND_BY_CONTROLLER]: chosen, ...annotations } = volume.metadata.annotations ?? {}
  const { claimRef, ...spec } = volume.spec
  const { uid: _, ...reserved } = claimRef ?? {}
  const free = await client.update(
    PersistentVolume,
    chosen === undefined
      ? { ...volume, spec: { ...spec, claimRef: reserved } }
      : { ...volume, metadata: { ...volume.metadata, annotations }, spec },
  )
  await setVolumePhase(free, "Available", client)
}
