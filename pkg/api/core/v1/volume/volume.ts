import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { isDNS1123Label } from "../../../../apimachinery/validation/names.ts"
import { LocalObjectReference } from "../reference.ts"
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  AzureFileVolumeSource,
  CephFSVolumeSource,
  CinderVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  GlusterfsVolumeSource,
  ISCSIVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  RBDVolumeSource,
  ScaleIOVolumeSource,
  StorageOSVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from "./volume-cloud.ts"
import { DownwardAPIVolumeFile, KeyToPath, ProjectedVolumeSource } from "./volume-projected.ts"
import { EphemeralVolumeSource } from "../persistentvolume/volumeclaim.ts"
import { volumeDefaults } from "../container/container-defaults.ts"

export const HostPathVolumeSource = message("core.v1.HostPathVolumeSource", "A file or folder of the node.", {
  path: f.string(1, "Path on the node.").required(),
  type: f
    .string(2, "What must be there, or is made.")
    .enum("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice", "")
    .default("")
    .pointer()
    .ownRule(),
})
export interface HostPathVolumeSource extends ObjectOf<typeof HostPathVolumeSource> {}

export const EmptyDirVolumeSource = message(
  "core.v1.EmptyDirVolumeSource",
  "A folder that starts empty and goes with the pod.",
  {
    medium: f.string(1, "Where it is kept; empty for the node's disk, Memory for tmpfs."),
    sizeLimit: f.quantity(2, "Most that it may hold."),
  },
)
export interface EmptyDirVolumeSource extends ObjectOf<typeof EmptyDirVolumeSource> {}

export const GitRepoVolumeSource = message(
  "core.v1.GitRepoVolumeSource",
  "A clone of a git repository; no longer served by Kubernetes.",
  {
    repository: f.string(1, "URL of the repository.").required(),
    revision: f.string(2, "Commit to check out."),
    directory: f.string(3, "Folder to clone into."),
  },
)
export interface GitRepoVolumeSource extends ObjectOf<typeof GitRepoVolumeSource> {}

export const SecretVolumeSource = message("core.v1.SecretVolumeSource", "Keys of a Secret as files.", {
  secretName: f.string(1, "Name of the Secret."),
  items: f.list(2, KeyToPath, "Which keys go where; every key under its own name unless given.").atomic(),
  defaultMode: f.int32(3, "Permission bits of files that name none.").default(420).pointer(),
  optional: f.bool(4, "Whether the Secret or its keys may be missing.").pointer(),
})
export interface SecretVolumeSource extends ObjectOf<typeof SecretVolumeSource> {}

export const NFSVolumeSource = message("core.v1.NFSVolumeSource", "An export of an NFS server.", {
  server: f.string(1, "Name or address of the server.").required(),
  path: f.string(2, "Exported path.").required().ownRule(),
  readOnly: f.bool(3, "Whether to mount it read-only."),
})
export interface NFSVolumeSource extends ObjectOf<typeof NFSVolumeSource> {}

export const PersistentVolumeClaimVolumeSource = message(
  "core.v1.PersistentVolumeClaimVolumeSource",
  "The volume that is bound to a claim.",
  {
    claimName: f.string(1, "Name of the claim in the same namespace.").required(),
    readOnly: f.bool(2, "Whether to mount it read-only."),
  },
)
export interface PersistentVolumeClaimVolumeSource extends ObjectOf<typeof PersistentVolumeClaimVolumeSource> {}

export const DownwardAPIVolumeSource = message("core.v1.DownwardAPIVolumeSource", "Fields of the pod as files.", {
  items: f.list(1, DownwardAPIVolumeFile, "The files.").atomic(),
  defaultMode: f.int32(2, "Permission bits of files that name none.").default(420).pointer(),
})
export interface DownwardAPIVolumeSource extends ObjectOf<typeof DownwardAPIVolumeSource> {}

export const ConfigMapVolumeSource = message("core.v1.ConfigMapVolumeSource", "Keys of a ConfigMap as files.", {
  name: f.string(1, "Name of the ConfigMap.").default("").embeddedIn(1),
  items: f.list(2, KeyToPath, "Which keys go where; every key under its own name unless given.").atomic(),
  defaultMode: f.int32(3, "Permission bits of files that name none.").default(420).pointer(),
  optional: f.bool(4, "Whether the ConfigMap or its keys may be missing.").pointer(),
})
export interface ConfigMapVolumeSource extends ObjectOf<typeof ConfigMapVolumeSource> {}

export const CSIVolumeSource = message(
  "core.v1.CSIVolumeSource",
  "A volume that a CSI driver makes for the pod alone.",
  {
    driver: f.string(1, "Name of the driver.").required().ownRule(),
    readOnly: f.bool(2, "Whether to mount it read-only.").pointer(),
    fsType: f.string(3, "Filesystem of the volume.").pointer(),
    volumeAttributes: f.map(4, e.string, "Parameters of the driver."),
    nodePublishSecretRef: f.message(5, LocalObjectReference, "Secret passed to the driver."),
  },
)
export interface CSIVolumeSource extends ObjectOf<typeof CSIVolumeSource> {}

export const ImageVolumeSource = message("core.v1.ImageVolumeSource", "The contents of an image, read-only.", {
  reference: f.string(1, "The image."),
  pullPolicy: f.string(2, "When to pull the image.").enum("Always", "Never", "IfNotPresent"),
})
export interface ImageVolumeSource extends ObjectOf<typeof ImageVolumeSource> {}

/** In the order of upstream: of several sources the first one is validated. */
export const VOLUME_SOURCES = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
] as const
export type VolumeSourceName = (typeof VOLUME_SOURCES)[number]

export const Volume = message(
  "core.v1.Volume",
  "A named folder or file that containers can mount. At most one source is set; without a source it is an emptyDir.",
  {
    name: f.string(1, "Name, unique in the pod.").required().check(isDNS1123Label),
    hostPath: f.message(1, HostPathVolumeSource, "A path of the node.").embeddedIn(2),
    emptyDir: f.message(2, EmptyDirVolumeSource, "A folder that goes with the pod.").embeddedIn(2),
    gcePersistentDisk: f.message(3, GCEPersistentDiskVolumeSource, "A disk of Google Cloud.").embeddedIn(2),
    awsElasticBlockStore: f.message(4, AWSElasticBlockStoreVolumeSource, "A disk of AWS.").embeddedIn(2),
    gitRepo: f.message(5, GitRepoVolumeSource, "A git clone.").embeddedIn(2),
    secret: f.message(6, SecretVolumeSource, "A Secret.").embeddedIn(2),
    nfs: f.message(7, NFSVolumeSource, "An NFS export.").embeddedIn(2),
    iscsi: f.message(8, ISCSIVolumeSource, "An iSCSI disk.").embeddedIn(2),
    glusterfs: f.message(9, GlusterfsVolumeSource, "A Glusterfs volume.").embeddedIn(2),
    persistentVolumeClaim: f.message(10, PersistentVolumeClaimVolumeSource, "A claim.").embeddedIn(2),
    rbd: f.message(11, RBDVolumeSource, "A Rados block device.").embeddedIn(2),
    flexVolume: f.message(12, FlexVolumeSource, "A volume of a driver executable.").embeddedIn(2),
    cinder: f.message(13, CinderVolumeSource, "A disk of OpenStack.").embeddedIn(2),
    cephfs: f.message(14, CephFSVolumeSource, "A Ceph filesystem.").embeddedIn(2),
    flocker: f.message(15, FlockerVolumeSource, "A Flocker dataset.").embeddedIn(2),
    downwardAPI: f.message(16, DownwardAPIVolumeSource, "Fields of the pod.").embeddedIn(2),
    fc: f.message(17, FCVolumeSource, "A Fibre Channel disk.").embeddedIn(2),
    azureFile: f.message(18, AzureFileVolumeSource, "A file share of Azure.").embeddedIn(2),
    configMap: f.message(19, ConfigMapVolumeSource, "A ConfigMap.").embeddedIn(2),
    vsphereVolume: f.message(20, VsphereVirtualDiskVolumeSource, "A disk of vSphere.").embeddedIn(2),
    quobyte: f.message(21, QuobyteVolumeSource, "A Quobyte volume.").embeddedIn(2),
    azureDisk: f.message(22, AzureDiskVolumeSource, "A disk of Azure.").embeddedIn(2),
    photonPersistentDisk: f.message(23, PhotonPersistentDiskVolumeSource, "A disk of Photon.").embeddedIn(2),
    projected: f.message(26, ProjectedVolumeSource, "Several sources in one folder.").embeddedIn(2),
    portworxVolume: f.message(24, PortworxVolumeSource, "A Portworx volume.").embeddedIn(2),
    scaleIO: f.message(25, ScaleIOVolumeSource, "A ScaleIO volume.").embeddedIn(2),
    storageos: f.message(27, StorageOSVolumeSource, "A StorageOS volume.").embeddedIn(2),
    csi: f.message(28, CSIVolumeSource, "A volume of a CSI driver.").embeddedIn(2),
    ephemeral: f.message(29, EphemeralVolumeSource, "A claim of the pod's own.").embeddedIn(2),
    image: f.message(30, ImageVolumeSource, "The contents of an image.").embeddedIn(2),
  },
  { defaults: volumeDefaults, firstOf: VOLUME_SOURCES },
)
export interface Volume extends ObjectOf<typeof Volume> {}
