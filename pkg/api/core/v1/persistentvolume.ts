import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/equal.ts"
import {
  at,
  atKey,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/names.ts"
import { quantity } from "../../../apimachinery/quantity.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { NodeSelector } from "./affinity.ts"
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
import { ObjectReference } from "./reference.ts"
import { accessModesText } from "./accessmodes.ts"
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
} from "./volume-cloud.ts"
import { HostPathVolumeSource, NFSVolumeSource } from "./volume.ts"

/** Source: k8s.io/api core/v1/types.go, SetDefaults_PersistentVolume, pkg/registry/core/persistentvolume/strategy.go, ValidatePersistentVolume in pkg/apis/core/validation. */

export const VolumeNodeAffinity = message("core.v1.VolumeNodeAffinity", "From which nodes a volume can be reached.", {
  required: f.message(1, NodeSelector, "Terms of which a node must match one."),
})
export interface VolumeNodeAffinity extends ObjectOf<typeof VolumeNodeAffinity> {}

export const PersistentVolumeSpec = message(
  "core.v1.PersistentVolumeSpec",
  "What a volume is; exactly one source is given.",
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
      .enum("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    claimRef: f.message(4, ObjectReference, "The claim it is bound to."),
    persistentVolumeReclaimPolicy: f
      .string(5, "What becomes of it when its claim is gone.")
      .default("Retain")
      .enum("Retain", "Delete", "Recycle"),
    storageClassName: f.string(6, "Class it belongs to."),
    mountOptions: f.list(7, e.string, "Options of the mount.").atomic(),
    volumeMode: f
      .string(8, "Filesystem or raw block device.")
      .default("Filesystem")
      .enum("Block", "Filesystem")
      .pointer(),
    nodeAffinity: f.message(9, VolumeNodeAffinity, "From which nodes it can be reached."),
    volumeAttributesClassName: f.string(10, "Class of attributes that can be changed later.").pointer(),
  },
)
export interface PersistentVolumeSpec extends ObjectOf<typeof PersistentVolumeSpec> {}

export const PersistentVolumeStatus = message("core.v1.PersistentVolumeStatus", "The present state of a volume.", {
  phase: f
    .string(1, "Whether the volume is free, bound or left over.")
    .default("Pending")
    .enum("Pending", "Available", "Bound", "Released", "Failed"),
  message: f.string(2, "Why it is in this state, in words."),
  reason: f.string(3, "Why it is in this state, one word."),
  lastPhaseTransitionTime: f.time(4, "When the phase last changed."),
})
export interface PersistentVolumeStatus extends ObjectOf<typeof PersistentVolumeStatus> {}

const fields = {
  spec: f.message(2, PersistentVolumeSpec, "What the volume is.").always(),
  status: f.message(3, PersistentVolumeStatus, "The present state of the volume.").always(),
}
export interface PersistentVolume extends ObjectFor<typeof fields> {}

export const PersistentVolume = defineResource(
  {
    group: "",
    version: "v1",
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    shortNames: ["pv"],
    scope: "Cluster",
    doc: "A piece of storage that claims are bound to.",
    returnsDeletedObject: true,
    subresources: {
      status: {
        prepareForUpdate: (volume, old, { now }) =>
          volume.status.phase === old.status.phase ||
          volume.status.lastPhaseTransitionTime !== old.status.lastPhaseTransitionTime
            ? volume
            : { ...volume, status: { ...volume.status, lastPhaseTransitionTime: now } },
      },
    },
    columns: [
      { name: "Capacity", type: "string", doc: "Size.", value: ({ spec }) => spec.capacity?.["storage"] ?? "" },
      {
        name: "Access Modes",
        type: "string",
        doc: "How it can be used.",
        value: ({ spec }) => accessModesText(spec.accessModes),
      },
      {
        name: "Reclaim Policy",
        type: "string",
        doc: "What becomes of it when its claim is gone.",
        value: ({ spec }) => spec.persistentVolumeReclaimPolicy,
      },
      {
        name: "Status",
        type: "string",
        doc: "State.",
        value: ({ metadata, status }) => (metadata.deletionTimestamp === undefined ? status.phase : "Terminating"),
      },
      {
        name: "Claim",
        type: "string",
        doc: "Claim it is bound to.",
        value: ({ spec }) =>
          spec.claimRef === undefined ? "" : `${spec.claimRef.namespace ?? ""}/${spec.claimRef.name ?? ""}`,
      },
      { name: "StorageClass", type: "string", doc: "Class.", value: ({ spec }) => spec.storageClassName ?? "" },
      {
        name: "VolumeAttributesClass",
        type: "string",
        doc: "Class of attributes.",
        value: ({ spec }) => spec.volumeAttributesClassName || "<unset>",
      },
      { name: "Reason", type: "string", doc: "Why it is in this state.", value: ({ status }) => status.reason ?? "" },
      {
        name: "VolumeMode",
        type: "string",
        priority: 1,
        doc: "Filesystem or raw block device.",
        value: ({ spec }) => spec.volumeMode,
      },
    ],
    prepareForCreate: (volume, { now }): PersistentVolume => ({
      ...volume,
      status: { phase: "Pending", lastPhaseTransitionTime: now },
    }),
    validate: ({ spec }) => specFaults(spec),
    validateUpdate: ({ spec }, old) => {
      const causes: Cause[] = []
      if (!SOURCES.every((source) => deepEqual(spec[source], old.spec[source])))
        causes.push(
          forbiddenField("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"),
        )
      if (spec.volumeMode !== old.spec.volumeMode)
        causes.push(invalidValue("volumeMode", spec.volumeMode, "field is immutable"))
      if (old.spec.nodeAffinity !== undefined && !deepEqual(spec.nodeAffinity, old.spec.nodeAffinity))
        causes.push(
          invalidValue(
            "nodeAffinity",
            spec.nodeAffinity,
            "field is immutable, except for updating from beta label to GA",
          ),
        )
      return causes
    },
  },
  fields,
)

const SOURCES = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "hostPath",
  "glusterfs",
  "nfs",
  "rbd",
  "iscsi",
  "cinder",
  "cephfs",
  "fc",
  "flocker",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
  "portworxVolume",
  "scaleIO",
  "local",
  "storageos",
  "csi",
] as const

function specFaults(spec: PersistentVolumeSpec): readonly Cause[] {
  const causes: Cause[] = []
  const { accessModes = [], capacity = {} } = spec
  if (accessModes.length === 0) causes.push(required("spec.accessModes"))
  if (accessModes.includes("ReadWriteOncePod") && accessModes.length > 1)
    causes.push(forbiddenField("spec.accessModes", "may not use ReadWriteOncePod with other access modes"))
  if (Object.keys(capacity).length === 0) causes.push(required("spec.capacity"))
  if (Object.keys(capacity).length > 0 && (capacity["storage"] === undefined || Object.keys(capacity).length > 1))
    causes.push(notSupported("spec.capacity", Object.keys(capacity), ["storage"]))
  for (const [name, amount] of Object.entries(capacity))
    if (quantity(amount).nano <= 0n)
      causes.push(invalidValue(atKey("spec.capacity", name), amount, "must be greater than zero"))
  const given = SOURCES.filter((source) => spec[source] !== undefined)
  if (given.length === 0) causes.push(required("spec", "must specify a volume type"))
  for (const source of given.slice(1))
    causes.push(forbiddenField(at("spec", source), "may not specify more than 1 volume type"))
  if (spec.hostPath !== undefined) causes.push(...pathFaults("spec.hostPath.path", spec.hostPath.path))
  if (spec.local !== undefined) {
    causes.push(...pathFaults("spec.local.path", spec.local.path))
    if (spec.nodeAffinity === undefined)
      causes.push(required("spec.nodeAffinity", "Local volume requires node affinity"))
  }
  if (spec.hostPath?.path === "/" && spec.persistentVolumeReclaimPolicy === "Recycle")
    causes.push(
      forbiddenField("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"),
    )
  if (spec.storageClassName)
    causes.push(
      ...invalidValues("spec.storageClassName", spec.storageClassName, isDNS1123Subdomain(spec.storageClassName)),
    )
  if (spec.nodeAffinity !== undefined && spec.nodeAffinity.required === undefined)
    causes.push(required("spec.nodeAffinity.required", "must specify required node constraints"))
  return causes
}

const pathFaults = (field: string, path: string): readonly Cause[] =>
  path.split("/").includes("..") ? [invalidValue(field, path, "must not contain '..'")] : []
