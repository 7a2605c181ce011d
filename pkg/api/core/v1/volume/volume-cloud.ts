import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { LocalObjectReference } from "../reference.ts"

export const AWSElasticBlockStoreVolumeSource = message(
  "core.v1.AWSElasticBlockStoreVolumeSource",
  "A disk of AWS; no longer served by Kubernetes itself.",
  {
    volumeID: f.string(1, "ID of the disk.").required(),
    fsType: f.string(2, "Filesystem of the volume."),
    partition: f.int32(3, "Partition to mount."),
    readOnly: f.bool(4, "Whether to mount it read-only."),
  },
)
export interface AWSElasticBlockStoreVolumeSource extends ObjectOf<typeof AWSElasticBlockStoreVolumeSource> {}

export const AzureDiskVolumeSource = message(
  "core.v1.AzureDiskVolumeSource",
  "A disk of Azure; no longer served by Kubernetes itself.",
  {
    diskName: f.string(1, "Name of the disk.").required(),
    diskURI: f.string(2, "URI of the disk.").required().ownRule(),
    cachingMode: f
      .string(3, "How the host caches.")
      .enum("None", "ReadOnly", "ReadWrite")
      .default("ReadWrite")
      .pointer(),
    fsType: f.string(4, "Filesystem of the volume.").default("ext4").pointer(),
    readOnly: f.bool(5, "Whether to mount it read-only.").default(false).pointer(),
    kind: f.string(6, "How the disk is kept.").enum("Shared", "Dedicated", "Managed").default("Shared").pointer(),
  },
)
export interface AzureDiskVolumeSource extends ObjectOf<typeof AzureDiskVolumeSource> {}

export const AzureFileVolumeSource = message(
  "core.v1.AzureFileVolumeSource",
  "A file share of Azure; no longer served by Kubernetes itself.",
  {
    secretName: f.string(1, "Secret with the account's name and key.").required(),
    shareName: f.string(2, "Name of the share.").required(),
    readOnly: f.bool(3, "Whether to mount it read-only."),
  },
)
export interface AzureFileVolumeSource extends ObjectOf<typeof AzureFileVolumeSource> {}

export const CephFSVolumeSource = message(
  "core.v1.CephFSVolumeSource",
  "A Ceph filesystem; no longer served by Kubernetes itself.",
  {
    monitors: f.list(1, e.string, "Addresses of the monitors.").required().atomic(),
    path: f.string(2, "Path to mount; `/` unless given."),
    user: f.string(3, "User; `admin` unless given."),
    secretFile: f.string(4, "Keyring file on the node."),
    secretRef: f.message(5, LocalObjectReference, "Secret with the key."),
    readOnly: f.bool(6, "Whether to mount it read-only."),
  },
)
export interface CephFSVolumeSource extends ObjectOf<typeof CephFSVolumeSource> {}

export const CinderVolumeSource = message(
  "core.v1.CinderVolumeSource",
  "A disk of OpenStack; no longer served by Kubernetes itself.",
  {
    volumeID: f.string(1, "ID of the disk.").required(),
    fsType: f.string(2, "Filesystem of the volume."),
    readOnly: f.bool(3, "Whether to mount it read-only."),
    secretRef: f.message(4, LocalObjectReference, "Secret with the credentials."),
  },
)
export interface CinderVolumeSource extends ObjectOf<typeof CinderVolumeSource> {}

export const FCVolumeSource = message("core.v1.FCVolumeSource", "A Fibre Channel disk.", {
  targetWWNs: f.list(1, e.string, "World wide names of the target.").atomic(),
  lun: f.int32(2, "Number of the logical unit.").pointer(),
  fsType: f.string(3, "Filesystem of the volume."),
  readOnly: f.bool(4, "Whether to mount it read-only."),
  wwids: f.list(5, e.string, "World wide identifiers, instead of targetWWNs and lun.").atomic(),
})
export interface FCVolumeSource extends ObjectOf<typeof FCVolumeSource> {}

export const FlexVolumeSource = message(
  "core.v1.FlexVolumeSource",
  "A volume made by a driver executable on the node.",
  {
    driver: f.string(1, "Name of the driver.").required().ownRule(),
    fsType: f.string(2, "Filesystem of the volume."),
    secretRef: f.message(3, LocalObjectReference, "Secret passed to the driver."),
    readOnly: f.bool(4, "Whether to mount it read-only."),
    options: f.map(5, e.string, "Further options of the driver."),
  },
)
export interface FlexVolumeSource extends ObjectOf<typeof FlexVolumeSource> {}

export const FlockerVolumeSource = message(
  "core.v1.FlockerVolumeSource",
  "A Flocker dataset; no longer served by Kubernetes itself.",
  {
    datasetName: f.string(1, "Name of the dataset."),
    datasetUUID: f.string(2, "UUID of the dataset."),
  },
)
export interface FlockerVolumeSource extends ObjectOf<typeof FlockerVolumeSource> {}

export const GCEPersistentDiskVolumeSource = message(
  "core.v1.GCEPersistentDiskVolumeSource",
  "A disk of Google Cloud; no longer served by Kubernetes itself.",
  {
    pdName: f.string(1, "Name of the disk.").required().ownRule(),
    fsType: f.string(2, "Filesystem of the volume."),
    partition: f.int32(3, "Partition to mount."),
    readOnly: f.bool(4, "Whether to mount it read-only."),
  },
)
export interface GCEPersistentDiskVolumeSource extends ObjectOf<typeof GCEPersistentDiskVolumeSource> {}

export const GlusterfsVolumeSource = message(
  "core.v1.GlusterfsVolumeSource",
  "A Glusterfs volume; no longer served by Kubernetes itself.",
  {
    endpoints: f.string(1, "Endpoints object that names the servers.").required(),
    path: f.string(2, "Path of the volume.").required(),
    readOnly: f.bool(3, "Whether to mount it read-only."),
  },
)
export interface GlusterfsVolumeSource extends ObjectOf<typeof GlusterfsVolumeSource> {}

export const ISCSIVolumeSource = message("core.v1.ISCSIVolumeSource", "An iSCSI disk.", {
  targetPortal: f.string(1, "Address of the target.").required(),
  iqn: f.string(2, "Name of the target.").required(),
  lun: f.int32(3, "Number of the logical unit.").default(0).printZero(),
  iscsiInterface: f.string(4, "Interface of the initiator.").default("default"),
  fsType: f.string(5, "Filesystem of the volume."),
  readOnly: f.bool(6, "Whether to mount it read-only."),
  portals: f.list(7, e.string, "Further addresses of the target.").atomic(),
  chapAuthDiscovery: f.bool(8, "Whether discovery is authenticated with CHAP."),
  chapAuthSession: f.bool(11, "Whether the session is authenticated with CHAP."),
  secretRef: f.message(10, LocalObjectReference, "Secret for CHAP."),
  initiatorName: f.string(12, "Name of the initiator.").pointer(),
})
export interface ISCSIVolumeSource extends ObjectOf<typeof ISCSIVolumeSource> {}

export const PhotonPersistentDiskVolumeSource = message(
  "core.v1.PhotonPersistentDiskVolumeSource",
  "A disk of Photon; no longer served by Kubernetes itself.",
  {
    pdID: f.string(1, "ID of the disk.").required(),
    fsType: f.string(2, "Filesystem of the volume."),
  },
)
export interface PhotonPersistentDiskVolumeSource extends ObjectOf<typeof PhotonPersistentDiskVolumeSource> {}

export const PortworxVolumeSource = message(
  "core.v1.PortworxVolumeSource",
  "A Portworx volume; no longer served by Kubernetes itself.",
  {
    volumeID: f.string(1, "ID of the volume.").required(),
    fsType: f.string(2, "Filesystem of the volume."),
    readOnly: f.bool(3, "Whether to mount it read-only."),
  },
)
export interface PortworxVolumeSource extends ObjectOf<typeof PortworxVolumeSource> {}

export const QuobyteVolumeSource = message(
  "core.v1.QuobyteVolumeSource",
  "A Quobyte volume; no longer served by Kubernetes itself.",
  {
    registry: f.string(1, "Addresses of the registries.").required().ownRule(),
    volume: f.string(2, "Name of the volume.").required(),
    readOnly: f.bool(3, "Whether to mount it read-only."),
    user: f.string(4, "User to mount as."),
    group: f.string(5, "Group to mount as."),
    tenant: f.string(6, "Tenant that owns the volume."),
  },
)
export interface QuobyteVolumeSource extends ObjectOf<typeof QuobyteVolumeSource> {}

export const RBDVolumeSource = message(
  "core.v1.RBDVolumeSource",
  "A Rados block device; no longer served by Kubernetes itself.",
  {
    monitors: f.list(1, e.string, "Addresses of the monitors.").required().atomic(),
    image: f.string(2, "Name of the image.").required(),
    fsType: f.string(3, "Filesystem of the volume."),
    pool: f.string(4, "Pool of the image.").default("rbd"),
    user: f.string(5, "User.").default("admin"),
    keyring: f.string(6, "Keyring file on the node.").default("/etc/ceph/keyring"),
    secretRef: f.message(7, LocalObjectReference, "Secret with the key."),
    readOnly: f.bool(8, "Whether to mount it read-only."),
  },
)
export interface RBDVolumeSource extends ObjectOf<typeof RBDVolumeSource> {}

export const ScaleIOVolumeSource = message(
  "core.v1.ScaleIOVolumeSource",
  "A ScaleIO volume; no longer served by Kubernetes itself.",
  {
    gateway: f.string(1, "Address of the gateway.").required(),
    system: f.string(2, "Name of the storage system.").required(),
    secretRef: f
      .message(3, LocalObjectReference, "Secret with the credentials.")
      .required()
      .pointer()
      .ownRule()
      .orNull(),
    sslEnabled: f.bool(4, "Whether to speak TLS to the gateway."),
    protectionDomain: f.string(5, "Protection domain of the volume."),
    storagePool: f.string(6, "Pool of the volume."),
    storageMode: f.string(7, "Thick or thin provisioning.").default("ThinProvisioned"),
    volumeName: f.string(8, "Name of the volume."),
    fsType: f.string(9, "Filesystem of the volume.").default("xfs"),
    readOnly: f.bool(10, "Whether to mount it read-only."),
  },
)
export interface ScaleIOVolumeSource extends ObjectOf<typeof ScaleIOVolumeSource> {}

export const StorageOSVolumeSource = message(
  "core.v1.StorageOSVolumeSource",
  "A StorageOS volume; no longer served by Kubernetes itself.",
  {
    volumeName: f.string(1, "Name of the volume."),
    volumeNamespace: f.string(2, "Namespace of the volume inside StorageOS."),
    fsType: f.string(3, "Filesystem of the volume."),
    readOnly: f.bool(4, "Whether to mount it read-only."),
    secretRef: f.message(5, LocalObjectReference, "Secret with the credentials."),
  },
)
export interface StorageOSVolumeSource extends ObjectOf<typeof StorageOSVolumeSource> {}

export const VsphereVirtualDiskVolumeSource = message(
  "core.v1.VsphereVirtualDiskVolumeSource",
  "A disk of vSphere; no longer served by Kubernetes itself.",
  {
    volumePath: f.string(1, "Path of the disk.").required(),
    fsType: f.string(2, "Filesystem of the volume."),
    storagePolicyName: f.string(3, "Name of the storage policy."),
    storagePolicyID: f.string(4, "ID of the storage policy."),
  },
)
export interface VsphereVirtualDiskVolumeSource extends ObjectOf<typeof VsphereVirtualDiskVolumeSource> {}
