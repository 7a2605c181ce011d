import { isAlreadyExists } from "../apimachinery/errors.ts"
import { Node } from "../api/core/v1/node/node.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  claimReference,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  storageClassOf,
} from "../api/core/v1/persistentvolume/volume-matching.ts"
import { StorageClass } from "../api/storage/v1/storageclass.ts"
import { defineController, type Controller, type ReconcileContext } from "../controller/controller.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { MadeVolume, VolumeMaker } from "./volume-maker.ts"

/** The annotation of a volume whose size is not enforced; its value says why. */
const SIZE_NOT_ENFORCED = "k3ts.dev/size-not-enforced"
/** The finalizer that keeps a volume until its storage is removed. */
export const STORAGE_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"

/**
 * Creates a volume for each claim that is annotated for its maker: by the binder with the provisioner of the claim's
 * class, and by the scheduler with a node if the class waits for a first consumer. Source:
 * sigs.k8s.io/sig-storage-lib-external-provisioner controller/controller.go, provisionClaimOperation.
 */
export const provisioner = (name: string, maker: VolumeMaker): Controller<PersistentVolumeClaim> =>
  defineController<PersistentVolumeClaim>({
    name,
    reconciles: PersistentVolumeClaim,
    concerns: (claim) => isMarkedFor(maker, claim),
    watches: [
      // Read when a volume is created.
      { resource: StorageClass, keys: () => [] },
      { resource: Node, keys: () => [] },
      { resource: PersistentVolume, keys: () => [] },
    ],
    async reconcile(key, context) {
      const claim = context.informers.of(PersistentVolumeClaim).get(key)
      if (claim !== undefined && isMarkedFor(maker, claim)) await provision(claim, maker, context)
    },
  })

const isMarkedFor = (maker: VolumeMaker, { metadata, spec }: PersistentVolumeClaim): boolean =>
  (spec.volumeName ?? "") === "" &&
  metadata.deletionTimestamp === undefined &&
  maker.serves(metadata.annotations?.[STORAGE_PROVISIONER] ?? "") &&
  maker.reaches(metadata.annotations?.[SELECTED_NODE])

async function provision(
  claim: PersistentVolumeClaim,
  maker: VolumeMaker,
  { client, informers, events }: ReconcileContext,
): Promise<void> {
  const { uid, namespace, name: claimName, annotations } = claim.metadata
  const name = `pvc-${uid}`
  const storageClass = informers.of(StorageClass).get(storageClassOf(claim))
  if (informers.of(PersistentVolume).get(name) !== undefined || storageClass === undefined) return
  const nodeName = annotations?.[SELECTED_NODE]
  if (storageClass.volumeBindingMode === "WaitForFirstConsumer" && nodeName === undefined) return
  const node = nodeName === undefined ? undefined : informers.of(Node).get(nodeName)
  if (nodeName !== undefined && node === undefined) return rescheduleProvisioning(nodeName, claim, { client, events })
  events.event(
    claim,
    "Normal",
    "Provisioning",
    `External provisioner is provisioning volume for claim "${namespace}/${claimName}"`,
  )
  let made: MadeVolume
  try {
    // Checked before anything is created: only volumes of CSI drivers may have such a class.
    if (claim.spec.volumeAttributesClassName)
      throw new Error(`volumes of ${maker.name} support no VolumeAttributesClass: leave volumeAttributesClassName out`)
    made = await maker.make({ claim, storageClass, name, ...(node === undefined ? {} : { node }) })
    const { mountOptions, reclaimPolicy } = storageClass
    await client.create(PersistentVolume, {
      metadata: {
        name,
        annotations: {
          ...made.annotations,
          [PROVISIONED_BY]: maker.name,
          ...(made.sizeNotEnforced === undefined ? {} : { [SIZE_NOT_ENFORCED]: made.sizeNotEnforced }),
        },
        ...(reclaimPolicy === "Delete" ? { finalizers: [STORAGE_FINALIZER] } : {}),
      },
      spec: {
        capacity: { storage: claim.spec.resources.requests?.["storage"] ?? "0" },
        accessModes: claim.spec.accessModes,
        volumeMode: claim.spec.volumeMode,
        storageClassName: storageClass.metadata.name,
        persistentVolumeReclaimPolicy: reclaimPolicy,
        mountOptions,
        claimRef: claimReference(claim),
        ...made.spec,
      },
    })
    await maker.finished?.({ claim, name })
  } catch (err) {
    // Another maker for the same class has created the volume first.
    if (isAlreadyExists(err)) return maker.finished?.({ claim, name })
    const reason = errorMessage(err)
    const about = `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata.name)}`
    events.event(claim, "Warning", "ProvisioningFailed", `${about}: ${reason}`)
    throw err
  }
  events.event(claim, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${name}`)
  if (made.sizeNotEnforced !== undefined) {
    const size = claim.spec.resources.requests?.["storage"] ?? "0"
    events.event(claim, "Normal", "SizeNotEnforced", `The size ${size} is not enforced: ${made.sizeNotEnforced}`)
  }
}

/**
 * Removes the claim's node, which is gone, so that the scheduler chooses another one for the pod. Source:
 * rescheduleProvisioning.
 */
async function rescheduleProvisioning(
  nodeName: string,
  claim: PersistentVolumeClaim,
  { client, events }: Pick<ReconcileContext, "client" | "events">,
): Promise<void> {
  events.event(claim, "Warning", "ProvisioningFailed", `failed to get target node: node ${nodeName} not found`)
  const { [SELECTED_NODE]: _, ...annotations } = claim.metadata.annotations ?? {}
  await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations } })
}
