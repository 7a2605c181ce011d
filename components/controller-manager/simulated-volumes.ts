import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  claimReference,
  isReservedFor,
  matchingVolume,
  SELECTED_NODE,
} from "../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { StorageClass } from "../../pkg/api/storage/v1/storageclass.ts"
import { keyFrom, type Informers, type Key } from "../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"

/** Marks volumes that were made for a claim, and go with it. */
const PROVISIONER = "k3ts.dev/simulated"
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
const ZONE = "topology.kubernetes.io/zone"

/**
 * Binds claims where nodes are simulated: to a volume that is there and fits, else to one that is made, of whatever
 * class. A claim of the class "" waits for a volume that is there, and one of a class with `WaitForFirstConsumer` until
 * the scheduler has chosen a node for a pod that uses it. Source of the steps:
 * pkg/controller/volume/persistentvolume/pv_controller.go syncUnboundClaim, bind.
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
    // Read where a claim is bound; a class that comes later concerns the claims that wait for it.
    {
      resource: StorageClass,
      keys: (storageClass, { informers }) =>
        informers
          .of(PersistentVolumeClaim)
          .list()
          .filter(
            ({ spec, status }) => status.phase !== "Bound" && spec.storageClassName === storageClass.metadata.name,
          )
          .map(({ metadata }) => keyFrom(metadata)),
    },
    { resource: Node, keys: () => [] },
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

/** The volume that the claim has, names, or could have. */
function volumeOf(claim: PersistentVolumeClaim, { informers }: ReconcileContext): PersistentVolume | undefined {
  const volumes = informers.of(PersistentVolume)
  if ((claim.spec.volumeName ?? "") !== "") return volumes.get(claim.spec.volumeName!)
  const all = volumes.list()
  return isDelayed(claim, informers)
    ? all.find((volume) => isReservedFor(volume, claim) && volume.metadata.deletionTimestamp === undefined)
    : matchingVolume(claim, all)
}

/** Whether the claim waits until the scheduler has chosen a node for its pod. Source: IsDelayBindingMode. */
const isDelayed = ({ metadata, spec }: PersistentVolumeClaim, informers: Informers): boolean =>
  metadata.annotations?.[SELECTED_NODE] === undefined &&
  informers.of(StorageClass).get(spec.storageClassName ?? "")?.volumeBindingMode === "WaitForFirstConsumer"

/** A new volume for the claim; none where it must be one that is there. */
async function made(
  claim: PersistentVolumeClaim,
  { client, informers, events }: ReconcileContext,
): Promise<PersistentVolume | undefined> {
  const { metadata, spec } = claim
  if (spec.storageClassName === "" || (spec.volumeName ?? "") !== "" || spec.selector !== undefined) return undefined
  if (isDelayed(claim, informers)) {
    events.event(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    return undefined
  }
  const reach = reachOf(informers.of(Node).get(metadata.annotations?.[SELECTED_NODE] ?? ""))
  return client.create(PersistentVolume, {
    metadata: { name: `pvc-${metadata.uid}`, annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      capacity: { storage: spec.resources.requests?.["storage"] ?? "0" },
      accessModes: spec.accessModes,
      volumeMode: spec.volumeMode,
      storageClassName: spec.storageClassName,
      persistentVolumeReclaimPolicy: "Delete",
      hostPath: { path: `/var/lib/simulated-volumes/${metadata.uid}`, type: "DirectoryOrCreate" },
      claimRef: claimReference(claim),
      ...(reach === undefined ? {} : { nodeAffinity: reach }),
    },
  })
}

/** A volume that was made for a node is reached from the node's zone; from everywhere where nodes have no zones. */
function reachOf(node: Node | undefined): PersistentVolume["spec"]["nodeAffinity"] {
  const zone = node?.metadata.labels?.[ZONE]
  if (zone === undefined) return undefined
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }] }] } }
}

/** Four writes, each left out where it has been done: what fails is taken up again. */
async function bind(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  { client }: ReconcileContext,
): Promise<void> {
  if (volume.spec.claimRef !== undefined && !isReservedFor(volume, claim)) return
  let taken = volume
  if (taken.spec.claimRef?.uid === undefined)
    taken = await client.update(PersistentVolume, {
      ...taken,
      metadata: { ...taken.metadata, annotations: { ...taken.metadata.annotations, [BOUND_BY_CONTROLLER]: "yes" } },
      spec: { ...taken.spec, claimRef: claimReference(claim) },
    })
  if (taken.status.phase !== "Bound")
    await client.updateStatus(PersistentVolume, { ...taken, status: { ...taken.status, phase: "Bound" } })
  let bound = claim
  if (bound.metadata.annotations?.[BIND_COMPLETED] === undefined || bound.spec.volumeName !== taken.metadata.name)
    bound = await client.update(PersistentVolumeClaim, {
      ...bound,
      metadata: {
        ...bound.metadata,
        annotations: { ...bound.metadata.annotations, [BIND_COMPLETED]: "yes", [BOUND_BY_CONTROLLER]: "yes" },
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
