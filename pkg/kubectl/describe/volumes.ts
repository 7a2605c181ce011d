import type { ProjectedVolumeSource } from "../../api/core/v1/volume/volume-projected.ts"
import type { DownwardAPIVolumeSource, EmptyDirVolumeSource, Volume } from "../../api/core/v1/volume/volume.ts"
import { describeClaim } from "./claims.ts"
import type { Describing } from "./describing.ts"
import type { PrefixWriter } from "./prefix-writer.ts"
import { quantityOf, quantityText } from "./resources.ts"
import { describePlainSource, describeSource, describeVolumeAttributes, localSecretText } from "./volume-sources.ts"

/** Writes the volumes of a pod, or of a pod template, whose titles are indented. */
export function describeVolumes(
  w: PrefixWriter,
  volumes: readonly Volume[] | undefined = [],
  indent: string,
  describing: Describing,
): void {
  if (volumes.length === 0) return w.row(0, `${indent}Volumes:`, "<none>")
  w.row(0, `${indent}Volumes:`)
  for (const volume of volumes) {
    w.row(1, `${indent === "" ? "" : " "}${volume.name}:`)
    describeVolume(w, volume, describing)
  }
}

function describeVolume(w: PrefixWriter, volume: Volume, describing: Describing): void {
  const { emptyDir, ephemeral, downwardAPI, scaleIO, azureFile, projected, csi } = volume
  if (emptyDir) describeEmptyDir(w, emptyDir)
  else if (ephemeral) {
    describeSource(
      w,
      "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)",
    )
    const template = ephemeral.volumeClaimTemplate
    if (template) describeClaim(w.nested(2), { ...template, metadata: template.metadata ?? {} }, describing, false)
  } else if (downwardAPI) describeDownwardAPI(w, downwardAPI)
  else if (scaleIO)
    describeSource(w, "ScaleIO (a persistent volume backed by a block device in ScaleIO)", [
      ["Gateway:", scaleIO.gateway],
      ["System:", scaleIO.system],
      ["Protection Domain:", scaleIO.protectionDomain ?? ""],
      ["Storage Pool:", scaleIO.storagePool ?? ""],
      ["Storage Mode:", scaleIO.storageMode ?? ""],
      ["VolumeName:", scaleIO.volumeName ?? ""],
      ["FSType:", scaleIO.fsType ?? ""],
      ["ReadOnly:", scaleIO.readOnly ?? false],
    ])
  else if (azureFile)
    describeSource(w, "AzureFile (an Azure File Service mount on the host and bind mount to the pod)", [
      ["SecretName:", azureFile.secretName],
      ["ShareName:", azureFile.shareName],
      ["ReadOnly:", azureFile.readOnly ?? false],
    ])
  else if (projected) describeProjected(w, projected)
  else if (csi) {
    describeSource(w, "CSI (a Container Storage Interface (CSI) volume source)", [
      ["Driver:", csi.driver],
      ["FSType:", csi.fsType ?? ""],
      ["ReadOnly:", csi.readOnly ?? false],
    ])
    describeVolumeAttributes(w, csi.volumeAttributes)
  } else if (volume.glusterfs)
    describeSource(w, "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)", [
      ["EndpointsName:", volume.glusterfs.endpoints],
      ["Path:", volume.glusterfs.path],
      ["ReadOnly:", volume.glusterfs.readOnly ?? false],
    ])
  else if (!describePlainSource(w, volume, localSecretText)) w.row(1, "<unknown>")
}

function describeEmptyDir(w: PrefixWriter, { medium = "", sizeLimit }: EmptyDirVolumeSource): void {
  describeSource(w, "EmptyDir (a temporary directory that shares a pod's lifetime)", [
    ["Medium:", medium],
    ["SizeLimit:", quantityOf(sizeLimit).nano > 0n ? quantityText(sizeLimit) : "<unset>"],
  ])
}

function describeDownwardAPI(w: PrefixWriter, { items = [] }: DownwardAPIVolumeSource): void {
  describeSource(w, "DownwardAPI (a volume populated by information about the pod)")
  w.row(2, "Items:")
  for (const { path, fieldRef, resourceFieldRef } of items) {
    if (fieldRef) w.row(3, `${fieldRef.fieldPath} -> ${path}`)
    if (resourceFieldRef) w.row(3, `${resourceFieldRef.resource} -> ${path}`)
  }
}

function describeProjected(w: PrefixWriter, { sources = [] }: ProjectedVolumeSource): void {
  describeSource(w, "Projected (a volume that contains injected data from multiple sources)")
  for (const { secret, downwardAPI, configMap, serviceAccountToken } of sources ?? []) {
    if (secret) {
      w.row(2, "SecretName:", secret.name ?? "")
      w.row(2, "Optional:", secret.optional ?? false)
    } else if (downwardAPI) w.row(2, "DownwardAPI:", "true")
    else if (configMap) {
      w.row(2, "ConfigMapName:", configMap.name ?? "")
      w.row(2, "Optional:", configMap.optional ?? false)
    } else if (serviceAccountToken) w.row(2, "TokenExpirationSeconds:", serviceAccountToken.expirationSeconds ?? 0)
  }
}
