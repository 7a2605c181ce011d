import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { resizeStateOf } from "../../../pkg/api/core/v1/persistentvolume/resize-status.ts"
import { requestedSize } from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { parseQuantity } from "../../../pkg/apimachinery/quantity.ts"
import { defineController } from "../../../pkg/controller/controller.ts"
import { csiDriverOf } from "./migration.ts"

/** Names the CSI driver that is to enlarge the volume of a claim, where the driver was part of Kubernetes once. */
const STORAGE_RESIZER = "volume.kubernetes.io/storage-resizer"

/** Sources of volumes whose drivers were part of Kubernetes. Source: csi-translation-lib/plugins. */
const IN_TREE_SOURCES = {
  awsElasticBlockStore: "kubernetes.io/aws-ebs",
  azureDisk: "kubernetes.io/azure-disk",
  azureFile: "kubernetes.io/azure-file",
  cinder: "kubernetes.io/cinder",
  gcePersistentDisk: "kubernetes.io/gce-pd",
  portworxVolume: "kubernetes.io/portworx-volume",
  vsphereVolume: "kubernetes.io/vsphere-volume",
} as const

/**
 * Says of claims that ask for more than they have who is to enlarge their volumes; nothing is enlarged here. Source:
 * pkg/controller/volume/expand.
 */
export const volumeExpander = defineController<PersistentVolumeClaim>({
  name: "persistentvolume-expander-controller",
  eventSource: "volume_expand",
  reconciles: PersistentVolumeClaim,
  concerns: isWaiting,
  async reconcile(key, { client, events, informers }) {
    const claim = informers.of(PersistentVolumeClaim).get(key)
    if (claim === undefined || !isWaiting(claim)) return
    const volume = await client.get(PersistentVolume, { name: claim.spec.volumeName ?? "" })
    const { claimRef } = volume.spec
    if (claimRef?.namespace !== claim.metadata.namespace || claimRef?.uid !== claim.metadata.uid)
      throw new Error(`persistent Volume is not bound to PVC being updated : ${key}`)
    const plugin = inTreePluginOf(volume)
    if (plugin === undefined)
      return events.event(claim, "Normal", "ExternalExpanding", "waiting for an external controller to expand this PVC")
    const message = `CSI migration enabled for ${plugin}; waiting for external resizer to expand the pvc`
    events.event(claim, "Normal", "ExternalExpanding", message)
    const { annotations } = claim.metadata
    const driver = csiDriverOf(plugin)
    if (driver === undefined || annotations?.[STORAGE_RESIZER] === driver) return
    await client.updateStatus(PersistentVolumeClaim, {
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...annotations, [STORAGE_RESIZER]: driver } },
    })
  },
})

/** A bound claim that asks for more than it has, while nobody has begun to enlarge its volume. */
function isWaiting(claim: PersistentVolumeClaim): boolean {
  const { phase, capacity } = claim.status
  const has = parseQuantity(capacity?.["storage"] ?? "0")?.nano ?? 0n
  return phase === "Bound" && requestedSize(claim) > has && resizeStateOf(claim.status) === undefined
}

const inTreePluginOf = ({ spec }: PersistentVolume): string | undefined =>
  Object.entries(IN_TREE_SOURCES).find(([source]) => spec[source as keyof typeof IN_TREE_SOURCES] !== undefined)?.[1]
