import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { resizeStateOf } from "../../../pkg/api/core/v1/persistentvolume/resize-status.ts"
import { requestedSize } from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { parseQuantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { defineController } from "../../../pkg/controller/controller.ts"
import { csiDriverOf } from "./migration.ts"

/** The annotation that names the CSI driver which must expand a claim whose volume has an in-tree source. */
const STORAGE_RESIZER = "volume.kubernetes.io/storage-resizer"

/**
 * The in-tree volume sources that CSI drivers have replaced, with their plugin names. Source:
 * csi-translation-lib/plugins.
 */
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
 * Reports which external controller must expand the volume of a claim that requests more than its capacity. Nothing is
 * expanded here. Source: pkg/controller/volume/expand.
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
    const { uid, resourceVersion } = claim.metadata
    const body = { metadata: { uid, resourceVersion, annotations: { [STORAGE_RESIZER]: driver } } }
    await client.patch(PersistentVolumeClaim, claim.metadata, { type: "strategic", body }, { subresource: "status" })
  },
})

/** Returns whether a bound claim requests more than its capacity and its expansion has not begun. */
function isWaiting(claim: PersistentVolumeClaim): boolean {
  const { phase, capacity } = claim.status
  const has = parseQuantity(capacity?.["storage"] ?? "0")?.nano ?? 0n
  return phase === "Bound" && requestedSize(claim) > has && resizeStateOf(claim.status) === undefined
}

const inTreePluginOf = ({ spec }: PersistentVolume): string | undefined =>
  Object.entries(IN_TREE_SOURCES).find(([source]) => spec[source as keyof typeof IN_TREE_SOURCES] !== undefined)?.[1]
