import { ageOf } from "../../apimachinery/scalars/time.ts"
import type { PersistentVolume } from "../../api/core/v1/persistentvolume/persistentvolume.ts"
import { accessModesText, classOf } from "./claims.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeClusterMetadata } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { quantityText } from "./resources.ts"
import { describePlainSource, describeSource, describeVolumeAttributes, secretText } from "./volume-sources.ts"

const PERSISTENT_VOLUMES = { group: "", version: "v1", resource: "persistentvolumes" }

export const describePersistentVolume: Describer = async (describing, _namespace, name) => {
  const volume = await describing.client.get<PersistentVolume>(PERSISTENT_VOLUMES, "", name)
  const events = await eventsOf(describing, volume)
  const { metadata, spec, status } = volume
  return description((w) => {
    describeClusterMetadata(w, metadata)
    w.row(0, "Finalizers:", `[${(metadata.finalizers ?? []).join(" ")}]`)
    w.row(0, "StorageClass:", classOf(metadata, spec))
    const { deletionTimestamp: deleted } = metadata
    w.row(0, "Status:", deleted ? `Terminating (lasts ${ageOf(deleted, describing.now())})` : (status?.phase ?? ""))
    const claim = spec.claimRef
    w.row(0, "Claim:", claim ? `${claim.namespace ?? ""}/${claim.name ?? ""}` : "")
    w.row(0, "Reclaim Policy:", spec.persistentVolumeReclaimPolicy ?? "")
    w.row(0, "Access Modes:", accessModesText(spec.accessModes))
    if (spec.volumeMode) w.row(0, "VolumeMode:", spec.volumeMode)
    w.row(0, "Capacity:", quantityText(spec.capacity?.["storage"]))
    describeNodeAffinity(w, spec.nodeAffinity)
    w.row(0, "Message:", status?.message ?? "")
    w.row(0, "Source:")
    describeVolumeSource(w, spec)
    describeEvents(w, events, describing.now())
  })
}

function describeNodeAffinity(w: PrefixWriter, affinity: PersistentVolume["spec"]["nodeAffinity"]): void {
  w.write(0, "Node Affinity:\t")
  if (!affinity?.required) return w.line("<none>")
  w.line("")
  w.write(1, "Required Terms:\t")
  const terms = affinity.required.nodeSelectorTerms ?? []
  w.line(terms.length === 0 ? "<none>" : "")
  for (const [i, { matchExpressions = [] }] of terms.entries())
    describeTerm(
      w,
      { level: 2, title: `Term ${i}` },
      matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator: operator.toLowerCase(), values })),
    )
}

export interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

/** Writes the requirements of a term, one a line. */
export function describeTerm(
  w: PrefixWriter,
  { level, title }: { readonly level: number; readonly title: string },
  requirements: readonly Requirement[],
): void {
  w.write(level, `${title}:\t`)
  if (requirements.length === 0) return w.line("<none>")
  for (const [i, { key, operator, values }] of requirements.entries()) {
    if (i > 0) w.write(level, "\t")
    w.row(0, `${key} ${operator}${values.length === 0 ? "" : ` [${values.join(", ")}]`}`)
  }
}

/** Writes the source of a volume; those that pods have in the same form are written as there. */
function describeVolumeSource(w: PrefixWriter, spec: PersistentVolume["spec"]): void {
  const { glusterfs, scaleIO, azureFile, csi } = spec
  if (glusterfs)
    describeSource(w, "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)", [
      ["EndpointsName:", glusterfs.endpoints],
      ["EndpointsNamespace:", glusterfs.endpointsNamespace ?? "<unset>"],
      ["Path:", glusterfs.path],
      ["ReadOnly:", glusterfs.readOnly ?? false],
    ])
  else if (scaleIO)
    describeSource(w, "ScaleIO (a persistent volume backed by a block device in ScaleIO)", [
      ["Gateway:", scaleIO.gateway],
      ["System:", scaleIO.system],
      ["Protection Domain:", scaleIO.protectionDomain ?? ""],
      ["Storage Pool:", scaleIO.storagePool ?? ""],
      ["Storage Mode:", scaleIO.storageMode ?? ""],
      ["VolumeName:", scaleIO.volumeName ?? ""],
      ["SecretName:", scaleIO.secretRef?.name ?? ""],
      ["SecretNamespace:", scaleIO.secretRef?.namespace ?? ""],
      ["FSType:", scaleIO.fsType ?? ""],
      ["ReadOnly:", scaleIO.readOnly ?? false],
    ])
  else if (azureFile)
    describeSource(w, "AzureFile (an Azure File Service mount on the host and bind mount to the pod)", [
      ["SecretName:", azureFile.secretName],
      ["SecretNamespace:", azureFile.secretNamespace ?? ""],
      ["ShareName:", azureFile.shareName],
      ["ReadOnly:", azureFile.readOnly ?? false],
    ])
  else if (csi) {
    describeSource(w, "CSI (a Container Storage Interface (CSI) volume source)", [
      ["Driver:", csi.driver],
      ["FSType:", csi.fsType ?? ""],
      ["VolumeHandle:", csi.volumeHandle],
      ["ReadOnly:", csi.readOnly ?? false],
    ])
    describeVolumeAttributes(w, csi.volumeAttributes)
  } else if (spec.storageos) describePlainSource(w, { storageos: spec.storageos }, secretText)
  else if (!describePlainSource(w, spec, secretText)) w.row(1, "<unknown>")
}
