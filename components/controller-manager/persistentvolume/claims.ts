import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  BETA_STORAGE_CLASS,
  BETA_STORAGE_PROVISIONER,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  isReservedFor,
  matchingVolume,
  mismatch,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  storageClassOf,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { defaultClass, StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
import { keyFrom, type Informers, type Key } from "../../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { bind, setClaimPhase } from "./bind.ts"
import { csiDriverOf, IN_TREE, migratedClaim } from "./migration.ts"
import { freeVolumesByClass, volumesByClaim } from "../../../pkg/component/volume-indexes.ts"
import { claimsByVolume, podsByClaim, unboundClaimsByClass } from "./indexes.ts"

/**
 * Binds claims to volumes. A claim gets the volume that is reserved for it, else the smallest that suits it; where
 * there is none, it is marked for the provisioner of its class. One whose class waits for a first consumer is left to
 * the scheduler. A bound claim whose volume is gone is Lost. Source: syncClaim in
 * pkg/controller/volume/persistentvolume/pv_controller.go. Upstream looks at every claim again every 15 s; here a
 * claim is woken by what it waits for.
 */
export const claimBinder = defineController<PersistentVolumeClaim>({
  name: "persistentvolume-binder-controller",
  eventSource: "persistentvolume-controller",
  reconciles: PersistentVolumeClaim,
  watches: [
    { resource: PersistentVolume, keys: (volume, { informers }) => claimsFor(volume as PersistentVolume, informers) },
    {
      resource: StorageClass,
      keys: ({ metadata: { name = "" } }, { informers }) => [
        ...unbound(informers, name),
        // Those without a class may get this one.
        ...unbound(informers, ""),
      ],
    },
  ],
  async reconcile(key, context) {
    const found = context.informers.of(PersistentVolumeClaim).get(key)
    if (found === undefined) return
    const migrated = migratedClaim(found)
    const claim = migrated === found ? found : await context.client.update(PersistentVolumeClaim, migrated)
    if (claim.metadata.annotations?.[BIND_COMPLETED] !== undefined) await syncBound(claim, context)
    else if ((claim.spec.volumeName ?? "") !== "") await syncNamed(claim, context)
    else await syncUnbound(claim, context)
  },
})

/** The claims that a change of the volume concerns. */
function claimsFor(volume: PersistentVolume, informers: Informers): readonly Key[] {
  const { claimRef } = volume.spec
  const naming = informers
    .of(PersistentVolumeClaim)
    .by(claimsByVolume, volume.metadata.name ?? "")
    .map(keyOf)
  if (claimRef !== undefined) return [keyFrom(claimRef), ...naming]
  return volume.status.phase === "Available" ? [...naming, ...unbound(informers, storageClassOf(volume))] : naming
}

const keyOf = ({ metadata }: PersistentVolumeClaim): Key => keyFrom(metadata)
const unbound = (informers: Informers, storageClass: string): readonly Key[] =>
  informers.of(PersistentVolumeClaim).by(unboundClaimsByClass, storageClass).map(keyOf)

/** Source: syncUnboundClaim, of a claim that names no volume. */
async function syncUnbound(claim: PersistentVolumeClaim, context: ReconcileContext): Promise<void> {
  const { client, events, informers } = context
  const storageClass = storageClassOf(claim)
  const isDelayed = informers.of(StorageClass).get(storageClass)?.volumeBindingMode === "WaitForFirstConsumer"
  const volumes = informers.of(PersistentVolume)
  const candidates = [
    ...volumes.by(volumesByClaim, keyOf(claim)),
    ...(isDelayed ? [] : volumes.by(freeVolumesByClass, storageClass)),
  ]
  const volume = matchingVolume(claim, candidates)
  if (volume !== undefined) return bind(volume, claim, client)
  if (await assignDefaultClass(claim, context)) return
  if (isDelayed && claim.metadata.annotations?.[SELECTED_NODE] === undefined) tellWhatItWaitsFor(claim, context)
  else if (storageClass !== "") return provision(claim, storageClass, context)
  else
    events.event(
      claim,
      "Normal",
      "FailedBinding",
      "no persistent volumes available for this claim and no storage class is set",
    )
  await setClaimPhase(claim, "Pending", client)
}

/** Gives a claim that was made while there was no default class the one that there is now. Source: KEP-3333. */
async function assignDefaultClass(
  claim: PersistentVolumeClaim,
  { client, informers }: ReconcileContext,
): Promise<boolean> {
  const hasClass = claim.spec.storageClassName !== undefined || BETA_STORAGE_CLASS in (claim.metadata.annotations ?? {})
  const wanted = hasClass ? undefined : defaultClass(informers.of(StorageClass).list())
  if (wanted === undefined) return false
  const spec = { ...claim.spec, storageClassName: wanted.metadata.name }
  await client.update(PersistentVolumeClaim, { ...claim, spec })
  return true
}

/** Source: emitEventForUnboundDelayBindingClaim. */
function tellWhatItWaitsFor(claim: PersistentVolumeClaim, { events, informers }: ReconcileContext): void {
  const waiting = informers
    .of(Pod)
    .by(podsByClaim, keyOf(claim))
    .filter((pod) => !isPodTerminal(pod) && (pod.spec.nodeName ?? "") === "")
    .map(({ metadata }) => metadata.name)
  if (waiting.length === 0)
    events.event(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
  else
    events.event(
      claim,
      "Normal",
      "WaitForPodScheduled",
      `waiting for pod${waiting.length > 1 ? "s" : ""} ${waiting.join(",")} to be scheduled`,
    )
}

/** Says who is to make a volume for the claim. Source: provisionClaim, provisionClaimOperationExternal. */
async function provision(
  claim: PersistentVolumeClaim,
  className: string,
  { client, events, informers }: ReconcileContext,
): Promise<void> {
  const storageClass = informers.of(StorageClass).get(className)
  if (storageClass === undefined) {
    const message = `storageclass.storage.k8s.io ${JSON.stringify(className)} not found`
    return events.event(claim, "Warning", "ProvisioningFailed", message)
  }
  const provisioner = csiDriverOf(storageClass.provisioner) ?? storageClass.provisioner
  if (provisioner.startsWith(IN_TREE))
    return events.event(claim, "Warning", "ProvisioningFailed", `no volume plugin matched name: ${provisioner}`)
  const { annotations } = claim.metadata
  let marked = claim
  if (annotations?.[STORAGE_PROVISIONER] !== provisioner) {
    const named = { ...annotations, [STORAGE_PROVISIONER]: provisioner, [BETA_STORAGE_PROVISIONER]: provisioner }
    const wanted = migratedClaim({ ...claim, metadata: { ...claim.metadata, annotations: named } })
    marked = await client.update(PersistentVolumeClaim, wanted)
  }
  events.event(
    marked,
    "Normal",
    "ExternalProvisioning",
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' ` +
      "or manually by the system administrator. If volume creation is delayed, please verify that " +
      "the provisioner is running and correctly registered.",
  )
}

/** Source: syncUnboundClaim, of a claim that names its volume. */
async function syncNamed(claim: PersistentVolumeClaim, { client, events, informers }: ReconcileContext): Promise<void> {
  const volume = informers.of(PersistentVolume).get(claim.spec.volumeName ?? "")
  if (volume === undefined) {
    await setClaimPhase(claim, "Pending", client)
    return
  }
  const name = JSON.stringify(volume.metadata.name)
  if (volume.spec.claimRef === undefined) {
    const reason = mismatch(volume, claim)
    if (reason === undefined) return bind(volume, claim, client)
    events.event(claim, "Warning", "VolumeMismatch", `Cannot bind to requested volume ${name}: ${reason}`)
  } else if (isReservedFor(volume, claim)) return bind(volume, claim, client)
  else {
    events.event(claim, "Warning", "FailedBinding", `volume ${name} already bound to a different claim.`)
    if (claim.metadata.annotations?.[BOUND_BY_CONTROLLER] !== undefined) return
  }
  await setClaimPhase(claim, "Pending", client)
}

/** Source: syncBoundClaim. */
async function syncBound(claim: PersistentVolumeClaim, context: ReconcileContext): Promise<void> {
  const { client, informers } = context
  const { volumeName = "" } = claim.spec
  const volume = informers.of(PersistentVolume).get(volumeName)
  if (volumeName === "")
    return lose(claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
  if (volume === undefined)
    return lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
  const { claimRef } = volume.spec
  if (claimRef === undefined || claimRef.uid === claim.metadata.uid) return bind(volume, claim, client)
  return lose(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")

  async function lose(claim: PersistentVolumeClaim, reason: string, message: string): Promise<void> {
    if (claim.status.phase === "Lost") return
    context.events.event(await setClaimPhase(claim, "Lost", client), "Warning", reason, message)
  }
}
