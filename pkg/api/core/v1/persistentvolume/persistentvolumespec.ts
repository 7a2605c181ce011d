import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { NodeSelector } from "../pod/scheduling/affinity.ts"
import {
  AzureFilePersistentVolumeSource,
  CephFSPersistentVolumeSource,
  CinderPersistentVolumeSource,
  CSIPersistentVolumeSource,
  FlexPersistentVolumeSource,
  GlusterfsPersistentVolumeSource,
  ISCSIPersistentVolumeSource,
  LocalVolumeSource,
  RBDPersistentVolumeSource,
  ScaleIOPersistentVolumeSource,
  StorageOSPersistentVolumeSource,
} from "./persistentvolumesource.ts"
import { ObjectReference } from "../reference.ts"
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from "../volume/volume-cloud.ts"
import { HostPathVolumeSource, NFSVolumeSource } from "../volume/volume.ts"

/**
 * Source: k8s.io/api core/v1/types.go. Its defaults are those of a PersistentVolume, and not of a volume in a
 * VolumeAttachment.
 */

export const VolumeNodeAffinity = message("core.v1.VolumeNodeAffinity", "From which nodes a volume can be reached.", {
  required: f.message(1, NodeSelector, "Terms of which a node must match one."),
})
export interface VolumeNodeAffinity extends ObjectOf<typeof VolumeNodeAffinity> {}

/** In the order of upstream: of several sources the first one is validated. */
export const PERSISTENT_VOLUME_SOURCES = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
] as const
export type PersistentVolumeSourceName = (typeof PERSISTENT_VOLUME_SOURCES)[number]

export const PersistentVolumeSpec = message(
  "core.v1.PersistentVolumeSpec",
  "The properties of a volume; exactly one source is set.",
  {
    capacity: f.map(1, e.quantity, "Size of the volume."),
    gcePersistentDisk: f.message(1, GCEPersistentDiskVolumeSource, "A disk of Google Cloud.").embeddedIn(2),
    awsElasticBlockStore: f.message(2, AWSElasticBlockStoreVolumeSource, "A disk of AWS.").embeddedIn(2),
    hostPath: f.message(3, HostPathVolumeSource, "A path of a node; for one node only.").embeddedIn(2),
    glusterfs: f.message(4, GlusterfsPersistentVolumeSource, "A Glusterfs volume.").embeddedIn(2),
    nfs: f.message(5, NFSVolumeSource, "An NFS export.").embeddedIn(2),
    rbd: f.message(6, RBDPersistentVolumeSource, "A Rados block device.").embeddedIn(2),
    iscsi: f.message(7, ISCSIPersistentVolumeSource, "An iSCSI disk.").embeddedIn(2),
    cinder: f.message(8, CinderPersistentVolumeSource, "A disk of OpenStack.").embeddedIn(2),
    cephfs: f.message(9, CephFSPersistentVolumeSource, "A Ceph filesystem.").embeddedIn(2),
    fc: f.message(10, FCVolumeSource, "A Fibre Channel disk.").embeddedIn(2),
    flocker: f.message(11, FlockerVolumeSource, "A Flocker dataset.").embeddedIn(2),
    flexVolume: f.message(12, FlexPersistentVolumeSource, "A volume of a driver executable.").embeddedIn(2),
    azureFile: f.message(13, AzureFilePersistentVolumeSource, "A file share of Azure.").embeddedIn(2),
    vsphereVolume: f.message(14, VsphereVirtualDiskVolumeSource, "A disk of vSphere.").embeddedIn(2),
    quobyte: f.message(15, QuobyteVolumeSource, "A Quobyte volume.").embeddedIn(2),
    azureDisk: f.message(16, AzureDiskVolumeSource, "A disk of Azure.").embeddedIn(2),
    photonPersistentDisk: f.message(17, PhotonPersistentDiskVolumeSource, "A disk of Photon.").embeddedIn(2),
    portworxVolume: f.message(18, PortworxVolumeSource, "A Portworx volume.").embeddedIn(2),
    scaleIO: f.message(19, ScaleIOPersistentVolumeSource, "A ScaleIO volume.").embeddedIn(2),
    local: f.message(20, LocalVolumeSource, "A disk or a folder of one node.").embeddedIn(2),
    storageos: f.message(21, StorageOSPersistentVolumeSource, "A StorageOS volume.").embeddedIn(2),
    csi: f.message(22, CSIPersistentVolumeSource, "A volume of a CSI driver.").embeddedIn(2),
    accessModes: f
      .list(3, e.string, "How the volume can be used.")
      .atomic()
      .enum("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
      .ownRule(),
    claimRef: f.message(4, ObjectReference, "The claim it is bound to.").granular(),
    persistentVolumeReclaimPolicy: f
      .string(5, "What becomes of it when its claim is gone.")
      .enum("Retain", "Delete", "Recycle")
      .ownRule(),
    storageClassName: f.string(6, "Class it belongs to."),
    mountOptions: f.list(7, e.string, "Options of the mount.").atomic(),
    volumeMode: f.string(8, "Filesystem or raw block device.").enum("Block", "Filesystem").pointer().ownRule(),
    nodeAffinity: f.message(9, VolumeNodeAffinity, "From which nodes it can be reached.").ownRule(),
    volumeAttributesClassName: f.string(10, "Class of attributes that can be changed later.").pointer(),
  },
  { firstOf: PERSISTENT_VOLUME_SOURCES },
)
export interface PersistentVolumeSpec extends ObjectOf<typeof PersistentVolumeSpec> {}
