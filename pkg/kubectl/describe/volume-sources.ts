import { goText } from "../../apimachinery/go/go-text.ts"
import type { PersistentVolumeSpec } from "../../api/core/v1/persistentvolume/persistentvolumespec.ts"
import type { Volume } from "../../api/core/v1/volume/volume.ts"
import { MOST_BYTES, shortened } from "./metadata.ts"
import type { Cell, PrefixWriter } from "./prefix-writer.ts"

/**
 * The volume sources that are described by their type and a row for each field. Most are sources of pods and of
 * PersistentVolumes, with secrets that are named in different ways.
 */
type Sources = {
  readonly [K in keyof Volume | keyof PersistentVolumeSpec]?:
    | (K extends keyof Volume ? Volume[K] : never)
    | (K extends keyof PersistentVolumeSpec ? PersistentVolumeSpec[K] : never)
}
/** A source that is neither absent nor undefined. */
type Source<K extends keyof Sources> = NonNullable<Sources[K]>
interface Described {
  readonly type: string
  readonly rows: readonly (readonly [label: string, value: Cell])[]
}

/** A reference to a Secret, in a pod or in a PersistentVolume. */
type SecretReference = { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined
/** Returns a reference as Go's generated String method writes it. */
type SecretText = (reference: SecretReference) => string

type Describers = { readonly [K in keyof Sources]?: (source: Source<K>, secretText: SecretText) => Described }

const described = (type: string, ...rows: Described["rows"]): Described => ({ type, rows })

/** Source: the functions print…VolumeSource and print…PersistentVolumeSource of kubectl pkg/describe. */
const SOURCES = {
  hostPath: ({ path, type }) =>
    described("HostPath (bare host directory volume)", ["Path:", path], ["HostPathType:", type ?? "<none>"]),
  gcePersistentDisk: ({ pdName, fsType, partition, readOnly }) =>
    described(
      "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
      ["PDName:", pdName],
      ["FSType:", fsType ?? ""],
      ["Partition:", partition ?? 0],
      ["ReadOnly:", readOnly ?? false],
    ),
  awsElasticBlockStore: ({ volumeID, fsType, partition, readOnly }) =>
    described(
      "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
      ["VolumeID:", volumeID],
      ["FSType:", fsType ?? ""],
      ["Partition:", partition ?? 0],
      ["ReadOnly:", readOnly ?? false],
    ),
  gitRepo: ({ repository, revision }) =>
    described(
      "GitRepo (a volume that is pulled from git when the pod is created)",
      ["Repository:", repository],
      ["Revision:", revision ?? ""],
    ),
  secret: ({ secretName, optional }) =>
    described(
      "Secret (a volume populated by a Secret)",
      ["SecretName:", secretName ?? ""],
      ["Optional:", optional ?? false],
    ),
  configMap: ({ name, optional }) =>
    described("ConfigMap (a volume populated by a ConfigMap)", ["Name:", name ?? ""], ["Optional:", optional ?? false]),
  nfs: ({ server, path, readOnly }) =>
    described(
      "NFS (an NFS mount that lasts the lifetime of a pod)",
      ["Server:", server],
      ["Path:", path],
      ["ReadOnly:", readOnly ?? false],
    ),
  iscsi: (iscsi, secretText) =>
    described(
      "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
      ["TargetPortal:", iscsi.targetPortal],
      ["IQN:", iscsi.iqn],
      ["Lun:", iscsi.lun],
      // Upstream's label has no colon either.
      ["ISCSIInterface", iscsi.iscsiInterface ?? ""],
      ["FSType:", iscsi.fsType ?? ""],
      ["ReadOnly:", iscsi.readOnly ?? false],
      ["Portals:", goText(iscsi.portals ?? [])],
      ["DiscoveryCHAPAuth:", iscsi.chapAuthDiscovery ?? false],
      ["SessionCHAPAuth:", iscsi.chapAuthSession ?? false],
      ["SecretRef:", secretText(iscsi.secretRef)],
      ["InitiatorName:", iscsi.initiatorName ?? "<none>"],
    ),
  persistentVolumeClaim: ({ claimName, readOnly }) =>
    described(
      "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
      ["ClaimName:", claimName],
      ["ReadOnly:", readOnly ?? false],
    ),
  rbd: (rbd, secretText) =>
    described(
      "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
      ["CephMonitors:", goText(rbd.monitors)],
      ["RBDImage:", rbd.image],
      ["FSType:", rbd.fsType ?? ""],
      ["RBDPool:", rbd.pool ?? ""],
      ["RadosUser:", rbd.user ?? ""],
      ["Keyring:", rbd.keyring ?? ""],
      ["SecretRef:", secretText(rbd.secretRef)],
      ["ReadOnly:", rbd.readOnly ?? false],
    ),
  quobyte: ({ registry, volume, readOnly }) =>
    described(
      "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
      ["Registry:", registry],
      ["Volume:", volume],
      ["ReadOnly:", readOnly ?? false],
    ),
  azureDisk: (disk) =>
    described(
      "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
      ["DiskName:", disk.diskName],
      ["DiskURI:", disk.diskURI],
      ["Kind: ", disk.kind ?? ""],
      ["FSType:", disk.fsType ?? ""],
      ["CachingMode:", disk.cachingMode ?? ""],
      ["ReadOnly:", disk.readOnly ?? false],
    ),
  vsphereVolume: ({ volumePath, fsType, storagePolicyName }) =>
    described(
      "vSphereVolume (a Persistent Disk resource in vSphere)",
      ["VolumePath:", volumePath],
      ["FSType:", fsType ?? ""],
      ["StoragePolicyName:", storagePolicyName ?? ""],
    ),
  cinder: ({ volumeID, fsType, readOnly, secretRef }, secretText) =>
    described(
      "Cinder (a Persistent Disk resource in OpenStack)",
      ["VolumeID:", volumeID],
      ["FSType:", fsType ?? ""],
      ["ReadOnly:", readOnly ?? false],
      ["SecretRef:", secretText(secretRef)],
    ),
  photonPersistentDisk: ({ pdID, fsType }) =>
    described(
      "PhotonPersistentDisk (a Persistent Disk resource in photon platform)",
      ["PdID:", pdID],
      ["FSType:", fsType ?? ""],
    ),
  portworxVolume: ({ volumeID }) => described("PortworxVolume (a Portworx Volume resource)", ["VolumeID:", volumeID]),
  cephfs: ({ monitors, path, user, secretFile, secretRef, readOnly }, secretText) =>
    described(
      "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
      ["Monitors:", goText(monitors)],
      ["Path:", path ?? ""],
      ["User:", user ?? ""],
      ["SecretFile:", secretFile ?? ""],
      ["SecretRef:", secretText(secretRef)],
      ["ReadOnly:", readOnly ?? false],
    ),
  storageos: ({ volumeName, volumeNamespace, fsType, readOnly }) =>
    described(
      "StorageOS (a StorageOS Persistent Disk resource)",
      ["VolumeName:", volumeName ?? ""],
      ["VolumeNamespace:", volumeNamespace ?? ""],
      ["FSType:", fsType ?? ""],
      ["ReadOnly:", readOnly ?? false],
    ),
  fc: ({ targetWWNs, lun, fsType, readOnly }) =>
    described(
      "FC (a Fibre Channel disk)",
      ["TargetWWNs:", (targetWWNs ?? []).join(", ")],
      ["LUN:", lun ?? "<none>"],
      ["FSType:", fsType ?? ""],
      ["ReadOnly:", readOnly ?? false],
    ),
  flexVolume: ({ driver, fsType, secretRef, readOnly, options }, secretText) =>
    described(
      "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
      ["Driver:", driver],
      ["FSType:", fsType ?? ""],
      ["SecretRef:", secretText(secretRef)],
      ["ReadOnly:", readOnly ?? false],
      ["Options:", goText(options ?? {})],
    ),
  flocker: ({ datasetName, datasetUUID }) =>
    described(
      "Flocker (a Flocker volume mounted by the Flocker agent)",
      ["DatasetName:", datasetName ?? ""],
      ["DatasetUUID:", datasetUUID ?? ""],
    ),
  local: ({ path }) =>
    described("LocalVolume (a persistent volume backed by local storage on a node)", ["Path:", path]),
  image: ({ reference, pullPolicy }) =>
    described(
      "Image (a container image or OCI artifact)",
      ["Reference:", reference ?? ""],
      ["PullPolicy:", pullPolicy ?? ""],
    ),
} satisfies Describers

/**
 * Writes a source that pods and PersistentVolumes describe alike, but for references to Secrets. Returns false where
 * the volume has none of them.
 */
export function describePlainSource(w: PrefixWriter, volume: Sources, secretText: SecretText): boolean {
  for (const [name, describer] of Object.entries(SOURCES)) {
    const source = volume[name as keyof Sources]
    if (source === undefined || source === null) continue
    const { type, rows } = (describer as (source: unknown, secretText: SecretText) => Described)(source, secretText)
    describeSource(w, type, rows)
    return true
  }
  return false
}

export const localSecretText: SecretText = (reference) =>
  reference === undefined ? "nil" : `&LocalObjectReference{Name:${reference.name ?? ""},}`

export const secretText: SecretText = (reference) =>
  reference === undefined
    ? "nil"
    : `&SecretReference{Name:${reference.name ?? ""},Namespace:${reference.namespace ?? ""},}`

/** Writes the type of a volume source, and its fields. */
export function describeSource(w: PrefixWriter, type: string, rows: Described["rows"] = []): void {
  w.row(2, "Type:", type)
  for (const row of rows) w.row(2, ...row)
}

/** Writes the attributes of a volume of a CSI driver, one a line. */
export function describeVolumeAttributes(w: PrefixWriter, attributes: Readonly<Record<string, string>> = {}): void {
  w.write(2, "VolumeAttributes:\t")
  const keys = Object.keys(attributes).sort()
  if (keys.length === 0) return w.line("<none>")
  for (const [i, key] of keys.entries()) {
    if (i > 0) {
      w.write(2, "")
      w.write(2, "\t")
    }
    const line = `${key}=${attributes[key]}`
    w.write(2, `${shortened(line, MOST_BYTES)}\n`)
  }
}
