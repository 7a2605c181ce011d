import { parseQuantity } from "../../pkg/apimachinery/quantity.ts"
import { fromLabelSelector } from "../../pkg/apimachinery/labels.ts"
import { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { keyFrom, type Key } from "../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"

/** Marks volumes that were made for a claim, and go with it. */
const PROVISIONER = "k3ts.dev/simulated"
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
const BOUND_BY_US = "pv.kubernetes.io/bound-by-controller"
const BIND_COMPLETED = "pv.kubernetes.io/bind-completed"

/**
 * Binds claims where nodes are simulated: to a volume that is there and fits, else to one that is made, of whatever
 * class and reached from every node. A claim of the class "" waits for a volume that is there. Source of the steps:
 * pkg/controller/volume/persistentvolume/pv_controller.go bind.
 */
export const simulatedVolumes = defineController<PersistentVolumeClaim>({
  name: "simulated-volume-controller",
  reconciles: PersistentVolumeClaim,
  watches: [
    {
      resource: PersistentVolume,
      keys(volume, { informers }) {
        const { claimRef } = (volume as PersistentVolume).spec
        if (claimRef !== undefined) return [`${claimRef.namespace}/${claimRef.name}`]
        return informers
          .of(PersistentVolumeClaim)
          .list()
          .filter((claim) => claim.status.phase !== "Bound")
          .map(({ metadata }) => keyFrom(metadata))
      },
    },
  ],
  async reconcile(key, context) {
    const claim = context.informers.of(PersistentVolumeClaim).get(key)
    await removeLeft(key, claim, context)
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return
    const volume = volumeOf(claim, context) ?? (await made(claim, context))
    if (volume !== undefined) await bind(claim, volume, context)
  },
})

/** Releases the volumes of a claim of this name which is gone, and deletes those that were made for it. */
async function removeLeft(
  key: Key,
  claim: PersistentVolumeClaim | undefined,
  { client, informers }: ReconcileContext,
): Promise<void> {
  for (const volume of informers.of(PersistentVolume).list()) {
    const { metadata, spec, status } = volume
    const { claimRef } = spec
    if (claimRef === undefined || `${claimRef.namespace}/${claimRef.name}` !== key) continue
    if (claimRef.uid === undefined || claimRef.uid === claim?.metadata.uid) continue
    try {
      // While it is bound it is protected from its deletion.
      if (status.phase === "Bound")
        await client.updateStatus(PersistentVolume, { ...volume, status: { ...status, phase: "Released" } })
      const isOurs = metadata.annotations?.[PROVISIONED_BY] === PROVISIONER
      if (isOurs && metadata.deletionTimestamp === undefined) await client.delete(PersistentVolume, metadata)
    } catch (err) {
      if (!isNotFound(err)) throw err
    }
  }
}

const isFor = ({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean =>
  claimRef !== undefined &&
  claimRef.namespace === metadata.namespace &&
  claimRef.name === metadata.name &&
  (claimRef.uid ?? metadata.uid) === metadata.uid

/** The volume that the claim has, names, or could have. */
function volumeOf(claim: PersistentVolumeClaim, { informers }: ReconcileContext): PersistentVolume | undefined {
  const volumes = informers.of(PersistentVolume)
  if ((claim.spec.volumeName ?? "") !== "") return volumes.get(claim.spec.volumeName!)
  const all = volumes.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  return (
    all.find((volume) => isFor(volume, claim)) ??
    all.filter((volume) => fits(volume, claim)).sort((a, b) => Number(sizeOf(a) - sizeOf(b)))[0]
  )
}

/** Source: pkg/volume FindMatchingVolume. */
function fits(volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean {
  const { claimRef, storageClassName = "", volumeMode, accessModes = [] } = volume.spec
  return (
    claimRef === undefined &&
    storageClassName === (spec.storageClassName ?? "") &&
    volumeMode === spec.volumeMode &&
    (spec.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
    (spec.selector === undefined || fromLabelSelector(spec.selector).matches(volume.metadata.labels)) &&
    sizeOf(volume) >= (parseQuantity(spec.resources.requests?.["storage"] ?? "0")?.nano ?? 0n)
  )
}

const sizeOf = ({ spec }: PersistentVolume): bigint => parseQuantity(spec.capacity?.["storage"] ?? "0")?.nano ?? 0n

/** A new volume for the claim; none where it must be one that is there. */
async function made(claim: PersistentVolumeClaim, { client }: ReconcileContext): Promise<PersistentVolume | undefined> {
  const { metadata, spec } = claim
  if (spec.storageClassName === "" || (spec.volumeName ?? "") !== "" || spec.selector !== undefined) return undefined
  return client.create(PersistentVolume, {
    metadata: { name: `pvc-${metadata.uid}`, annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      capacity: { storage: spec.resources.requests?.["storage"] ?? "0" },
      accessModes: spec.accessModes,
      volumeMode: spec.volumeMode,
      storageClassName: spec.storageClassName,
      persistentVolumeReclaimPolicy: "Delete",
      hostPath: { path: `/var/lib/simulated-volumes/${metadata.uid}`, type: "DirectoryOrCreate" },
      claimRef: referenceTo(claim),
    },
  })
}

const referenceTo = ({ metadata }: PersistentVolumeClaim) => ({
  apiVersion: PersistentVolumeClaim.apiVersion,
  kind: PersistentVolumeClaim.kind,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
})

/** Four writes, each left out where it has been done: what fails is taken up again. */
async function bind(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  { client }: ReconcileContext,
): Promise<void> {
  if (volume.spec.claimRef !== undefined && !isFor(volume, claim)) return
  let taken = volume
  if (taken.spec.claimRef?.uid === undefined)
    taken = await client.update(PersistentVolume, {
      ...taken,
      metadata: { ...taken.metadata, annotations: { ...taken.metadata.annotations, [BOUND_BY_US]: "yes" } },
      spec: { ...taken.spec, claimRef: referenceTo(claim) },
    })
  if (taken.status.phase !== "Bound")
    await client.updateStatus(PersistentVolume, { ...taken, status: { ...taken.status, phase: "Bound" } })
  let bound = claim
  if (bound.metadata.annotations?.[BIND_COMPLETED] === undefined || bound.spec.volumeName !== taken.metadata.name)
    bound = await client.update(PersistentVolumeClaim, {
      ...bound,
      metadata: {
        ...bound.metadata,
        annotations: { ...bound.metadata.annotations, [BIND_COMPLETED]: "yes", [BOUND_BY_US]: "yes" },
      },
      spec: { ...bound.spec, volumeName: taken.metadata.name },
    })
  if (bound.status.phase !== "Bound")
    await client.updateStatus(PersistentVolumeClaim, {
      ...bound,
      status: {
        ...bound.status,
        phase: "Bound",
        accessModes: taken.spec.accessModes,
        capacity: taken.spec.capacity,
      },
    })
}
