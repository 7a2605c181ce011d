import type { Message } from "../../../../apimachinery/field-spec.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import { unifiedDiff } from "../../../../apimachinery/go/unified-diff.ts"
import { PersistentVolumeSpec, type PersistentVolumeSourceName } from "./persistentvolumespec.ts"

/**
 * The sources in the order and under the names of Go's struct. Source: PersistentVolumeSource in
 * pkg/apis/core/types.go.
 */
const SOURCES: readonly (readonly [PersistentVolumeSourceName, string])[] = [
  ["gcePersistentDisk", "GCEPersistentDisk"],
  ["awsElasticBlockStore", "AWSElasticBlockStore"],
  ["hostPath", "HostPath"],
  ["glusterfs", "Glusterfs"],
  ["nfs", "NFS"],
  ["rbd", "RBD"],
  ["quobyte", "Quobyte"],
  ["iscsi", "ISCSI"],
  ["flexVolume", "FlexVolume"],
  ["cinder", "Cinder"],
  ["cephfs", "CephFS"],
  ["fc", "FC"],
  ["flocker", "Flocker"],
  ["azureFile", "AzureFile"],
  ["vsphereVolume", "VsphereVolume"],
  ["azureDisk", "AzureDisk"],
  ["photonPersistentDisk", "PhotonPersistentDisk"],
  ["portworxVolume", "PortworxVolume"],
  ["scaleIO", "ScaleIO"],
  ["local", "Local"],
  ["storageos", "StorageOS"],
  ["csi", "CSI"],
]

/** Returns the difference of the sources of two volumes in the form of Kubernetes. */
export const sourceDifference = (old: PersistentVolumeSpec, now: PersistentVolumeSpec): string =>
  unifiedDiff(shown(old), shown(now))

const shown = (spec: PersistentVolumeSpec): object =>
  Object.fromEntries(
    SOURCES.map(([source, name]) => {
      const { type } = PersistentVolumeSpec.fields[source].spec
      const given = spec[source]
      return [name, given === undefined || type.kind !== "message" ? null : goForm(type.message() as Message, given)]
    }),
  )
