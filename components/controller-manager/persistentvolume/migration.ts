/**
 * Volumes of drivers that were part of Kubernetes and are CSI drivers now: claims and volumes say which one. Source:
 * updateMigrationAnnotations, modifyDeletionFinalizers in pkg/controller/volume/persistentvolume/pv_controller_base.go,
 * pkg/volume/csimigration.
 */
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  BETA_STORAGE_PROVISIONER,
  PROVISIONED_BY,
  STORAGE_PROVISIONER,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"

/** Names the CSI driver that takes the place of the one which the object names. */
export const MIGRATED_TO = "pv.kubernetes.io/migrated-to"
/** Provisioners of this prefix were part of Kubernetes. */
export const IN_TREE = "kubernetes.io/"
/** Holds a volume of a driver that is part of Kubernetes until its storage is gone. */
const IN_TREE_FINALIZER = "kubernetes.io/pv-controller"
/** The same of a driver outside. */
const EXTERNAL_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"

/** The CSI driver of each provisioner that was part of Kubernetes. Source: csi-translation-lib/plugins. */
const CSI_DRIVERS: ReadonlyMap<string, string> = new Map([
  ["kubernetes.io/aws-ebs", "ebs.csi.aws.com"],
  ["kubernetes.io/azure-disk", "disk.csi.azure.com"],
  ["kubernetes.io/azure-file", "file.csi.azure.com"],
  ["kubernetes.io/cinder", "cinder.csi.openstack.org"],
  ["kubernetes.io/gce-pd", "pd.csi.storage.gke.io"],
  ["kubernetes.io/portworx-volume", "pxd.portworx.com"],
  ["kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"],
])

/** The CSI driver that took the provisioner's place; undefined where there is none. */
export const csiDriverOf = (provisioner: string): string | undefined => CSI_DRIVERS.get(provisioner)

/** Returns the claim with the driver that its provisioner became; the very claim where it says so already. */
export function migratedClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { annotations } = claim.metadata
  const wanted = migrated(annotations, annotations?.[STORAGE_PROVISIONER] ?? annotations?.[BETA_STORAGE_PROVISIONER])
  return wanted === annotations ? claim : { ...claim, metadata: { ...claim.metadata, annotations: wanted } }
}

/**
 * Returns the volume with the driver that its provisioner became and with the finalizer of who deletes its storage; the
 * very volume where nothing is to be changed.
 */
export function migratedVolume(volume: PersistentVolume): PersistentVolume {
  const annotations = migrated(volume.metadata.annotations, volume.metadata.annotations?.[PROVISIONED_BY])
  const finalizers = finalizersFor(volume)
  if (annotations === volume.metadata.annotations && deepEqual(finalizers, volume.metadata.finalizers)) return volume
  return { ...volume, metadata: { ...volume.metadata, annotations, finalizers } }
}

type Annotations = Readonly<Record<string, string>> | undefined

function migrated(annotations: Annotations, provisioner: string | undefined): Annotations {
  if (annotations === undefined || provisioner === undefined) return annotations
  const driver = CSI_DRIVERS.get(provisioner)
  const { [MIGRATED_TO]: current = "", ...others } = annotations
  if (current === (driver ?? "")) return annotations
  return driver === undefined ? others : { ...annotations, [MIGRATED_TO]: driver }
}

/** Only volumes that were made for a claim are held. */
function finalizersFor({ metadata, spec }: PersistentVolume): readonly string[] | undefined {
  const { annotations, finalizers } = metadata
  const provisioner = annotations?.[PROVISIONED_BY]
  if (provisioner === undefined) return finalizers
  const without = (...gone: readonly string[]) => finalizers?.filter((name) => !gone.includes(name))
  if (CSI_DRIVERS.has(provisioner)) return without(IN_TREE_FINALIZER)
  if (!provisioner.startsWith(IN_TREE)) return finalizers
  if (spec.persistentVolumeReclaimPolicy !== "Delete") return without(EXTERNAL_FINALIZER, IN_TREE_FINALIZER)
  const others = without(EXTERNAL_FINALIZER) ?? []
  return others.includes(IN_TREE_FINALIZER) ? others : [...others, IN_TREE_FINALIZER]
}
