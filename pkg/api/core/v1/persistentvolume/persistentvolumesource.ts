import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { ObjectReference, SecretReference } from "../reference.ts"

/**
 * Sources that differ between a PersistentVolume and a pod: their Secrets may be in any namespace. Source: k8s.io/api
 * core/v1/types.go.
 */

export const LocalVolumeSource = message("core.v1.LocalVolumeSource", "A disk or a folder of one node.", {
  path: f.string(1, "Path on the node.").required(),
  fsType: f.string(2, "File system of a disk.").pointer(),
})
export interface LocalVolumeSource extends ObjectOf<typeof LocalVolumeSource> {}

export const CSIPersistentVolumeSource = message("core.v1.CSIPersistentVolumeSource", "A volume of a CSI driver.", {
  driver: f.string(1, "Name of the driver.").required(),
  volumeHandle: f.string(2, "How the driver names the volume.").required(),
  readOnly: f.bool(3, "Whether it is only read."),
  fsType: f.string(4, "File system."),
  volumeAttributes: f.map(5, e.string, "Attributes for the driver."),
  controllerPublishSecretRef: f.message(6, SecretReference, "Secret for attaching."),
  nodeStageSecretRef: f.message(7, SecretReference, "Secret for staging on a node."),
  nodePublishSecretRef: f.message(8, SecretReference, "Secret for mounting."),
  controllerExpandSecretRef: f.message(9, SecretReference, "Secret for growing the volume."),
  nodeExpandSecretRef: f.message(10, SecretReference, "Secret for growing it on the node."),
})
export interface CSIPersistentVolumeSource extends ObjectOf<typeof CSIPersistentVolumeSource> {}

export const CephFSPersistentVolumeSource = message(
  "core.v1.CephFSPersistentVolumeSource",
  "A Ceph filesystem; no longer served by Kubernetes itself.",
  {
    monitors: f.list(1, e.string, "Addresses of the monitors.").required().atomic(),
    path: f.string(2, "Path in the file system."),
    user: f.string(3, "User name."),
    secretFile: f.string(4, "File with the key."),
    secretRef: f.message(5, SecretReference, "Secret with the key."),
    readOnly: f.bool(6, "Whether it is only read."),
  },
)
export interface CephFSPersistentVolumeSource extends ObjectOf<typeof CephFSPersistentVolumeSource> {}

export const CinderPersistentVolumeSource = message(
  "core.v1.CinderPersistentVolumeSource",
  "A disk of OpenStack; no longer served by Kubernetes itself.",
  {
    volumeID: f.string(1, "ID of the volume.").required(),
    fsType: f.string(2, "File system."),
    readOnly: f.bool(3, "Whether it is only read."),
    secretRef: f.message(4, SecretReference, "Secret for OpenStack."),
  },
)
export interface CinderPersistentVolumeSource extends ObjectOf<typeof CinderPersistentVolumeSource> {}

export const RBDPersistentVolumeSource = message(
  "core.v1.RBDPersistentVolumeSource",
  "A Rados block device; no longer served by Kubernetes itself.",
  {
    monitors: f.list(1, e.string, "Addresses of the monitors.").required().atomic(),
    image: f.string(2, "Name of the image.").required(),
    fsType: f.string(3, "File system."),
    pool: f.string(4, "Name of the pool.").default("rbd"),
    user: f.string(5, "User name.").default("admin"),
    keyring: f.string(6, "Path of the keyring.").default("/etc/ceph/keyring"),
    secretRef: f.message(7, SecretReference, "Secret with the key."),
    readOnly: f.bool(8, "Whether it is only read."),
  },
)
export interface RBDPersistentVolumeSource extends ObjectOf<typeof RBDPersistentVolumeSource> {}

export const ScaleIOPersistentVolumeSource = message(
  "core.v1.ScaleIOPersistentVolumeSource",
  "A ScaleIO volume; no longer served by Kubernetes itself.",
  {
    gateway: f.string(1, "Address of the gateway.").required(),
    system: f.string(2, "Name of the storage system.").required(),
    secretRef: f.message(3, SecretReference, "Secret with the credentials.").required().pointer().ownRule().orNull(),
    sslEnabled: f.bool(4, "Whether the gateway is reached over TLS."),
    protectionDomain: f.string(5, "Name of the protection domain."),
    storagePool: f.string(6, "Name of the storage pool."),
    storageMode: f.string(7, "Whether the storage is thick or thin.").default("ThinProvisioned"),
    volumeName: f.string(8, "Name of the volume."),
    fsType: f.string(9, "File system.").default("xfs"),
    readOnly: f.bool(10, "Whether it is only read."),
  },
)
export interface ScaleIOPersistentVolumeSource extends ObjectOf<typeof ScaleIOPersistentVolumeSource> {}

export const StorageOSPersistentVolumeSource = message(
  "core.v1.StorageOSPersistentVolumeSource",
  "A StorageOS volume; no longer served by Kubernetes itself.",
  {
    volumeName: f.string(1, "Name of the volume."),
    volumeNamespace: f.string(2, "Namespace of the volume in StorageOS."),
    fsType: f.string(3, "File system."),
    readOnly: f.bool(4, "Whether it is only read."),
    secretRef: f.message(5, ObjectReference, "Secret with the credentials."),
  },
)
export interface StorageOSPersistentVolumeSource extends ObjectOf<typeof StorageOSPersistentVolumeSource> {}

export const ISCSIPersistentVolumeSource = message("core.v1.ISCSIPersistentVolumeSource", "An iSCSI disk.", {
  targetPortal: f.string(1, "Address of the target.").required(),
  iqn: f.string(2, "Name of the target.").required(),
  lun: f.int32(3, "Number of the unit.").default(0).printZero(),
  iscsiInterface: f.string(4, "Name of the initiator's interface.").default("default"),
  fsType: f.string(5, "File system."),
  readOnly: f.bool(6, "Whether it is only read."),
  portals: f.list(7, e.string, "Further addresses of the target.").atomic(),
  chapAuthDiscovery: f.bool(8, "Whether discovery asks for CHAP."),
  secretRef: f.message(10, SecretReference, "Secret with the CHAP credentials."),
  chapAuthSession: f.bool(11, "Whether sessions ask for CHAP."),
  initiatorName: f.string(12, "Name of the initiator.").pointer(),
})
export interface ISCSIPersistentVolumeSource extends ObjectOf<typeof ISCSIPersistentVolumeSource> {}

export const GlusterfsPersistentVolumeSource = message(
  "core.v1.GlusterfsPersistentVolumeSource",
  "A Glusterfs volume; no longer served by Kubernetes itself.",
  {
    endpoints: f.string(1, "Name of the Endpoints of the servers.").required(),
    path: f.string(2, "Name of the volume.").required(),
    readOnly: f.bool(3, "Whether it is only read."),
    endpointsNamespace: f.string(4, "Namespace of the Endpoints.").pointer(),
  },
)
export interface GlusterfsPersistentVolumeSource extends ObjectOf<typeof GlusterfsPersistentVolumeSource> {}

export const FlexPersistentVolumeSource = message(
  "core.v1.FlexPersistentVolumeSource",
  "A volume made by a driver executable on the node.",
  {
    driver: f.string(1, "Name of the driver.").required().ownRule(),
    fsType: f.string(2, "File system."),
    secretRef: f.message(3, SecretReference, "Secret for the driver."),
    readOnly: f.bool(4, "Whether it is only read."),
    options: f.map(5, e.string, "Options for the driver."),
  },
)
export interface FlexPersistentVolumeSource extends ObjectOf<typeof FlexPersistentVolumeSource> {}

export const AzureFilePersistentVolumeSource = message(
  "core.v1.AzureFilePersistentVolumeSource",
  "A file share of Azure; no longer served by Kubernetes itself.",
  {
    secretName: f.string(1, "Secret with the account.").required(),
    shareName: f.string(2, "Name of the share.").required(),
    readOnly: f.bool(3, "Whether it is only read."),
    secretNamespace: f.string(4, "Namespace of the Secret.").pointer().orNull(),
  },
)
export interface AzureFilePersistentVolumeSource extends ObjectOf<typeof AzureFilePersistentVolumeSource> {}
