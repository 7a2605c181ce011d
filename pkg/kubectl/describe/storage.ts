import type { CSINode } from "../../api/storage/v1/csinode.ts"
import type { StorageClass } from "../../api/storage/v1/storageclass.ts"
import type { VolumeAttributesClass } from "../../api/storage/v1/volumeattributesclass.ts"
import { boolText } from "./cronjob.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeClusterMetadata, labelsText } from "./metadata.ts"
import { describeTerm } from "./persistentvolume.ts"
import { description } from "./prefix-writer.ts"
import { longTime } from "./times.ts"

const of = (resource: string) => ({ group: "storage.k8s.io", version: "v1", resource })
const DEFAULT_ANNOTATIONS = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
]

export const describeStorageClass: Describer = async (describing, _namespace, name) => {
  const storageClass = await describing.client.get<StorageClass>(of("storageclasses"), "", name)
  const events = await eventsOf(describing, storageClass)
  const { metadata, mountOptions = [], allowedTopologies } = storageClass
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    const isDefault = DEFAULT_ANNOTATIONS.some((annotation) => metadata.annotations?.[annotation] === "true")
    w.row(0, "IsDefaultClass:", isDefault ? "Yes" : "No")
    w.row(0, "Annotations:", labelsText(metadata.annotations))
    w.row(0, "Provisioner:", storageClass.provisioner)
    w.row(0, "Parameters:", labelsText(storageClass.parameters))
    w.row(0, "AllowVolumeExpansion:", boolText(storageClass.allowVolumeExpansion))
    if (mountOptions.length === 0) w.row(0, "MountOptions:", "<none>")
    else w.row(0, "MountOptions:")
    for (const option of mountOptions) w.row(1, option)
    if (storageClass.reclaimPolicy) w.row(0, "ReclaimPolicy:", storageClass.reclaimPolicy)
    if (storageClass.volumeBindingMode) w.row(0, "VolumeBindingMode:", storageClass.volumeBindingMode)
    if (allowedTopologies) {
      w.row(0, "AllowedTopologies:", allowedTopologies.length === 0 ? "<none>" : "")
      for (const [i, { matchLabelExpressions = [] }] of allowedTopologies.entries())
        describeTerm(
          w,
          { level: 1, title: `Term ${i}` },
          matchLabelExpressions.map(({ key, values }) => ({ key, operator: "in", values })),
        )
    }
    describeEvents(w, events, describing.now())
  })
}

export const describeVolumeAttributesClass: Describer = async (describing, _namespace, name) => {
  const attributes = await describing.client.get<VolumeAttributesClass>(of("volumeattributesclasses"), "", name)
  const events = await eventsOf(describing, attributes)
  return description((w) => {
    w.row(0, "Name:", attributes.metadata.name ?? "")
    w.row(0, "Annotations:", labelsText(attributes.metadata.annotations))
    w.row(0, "DriverName:", attributes.driverName)
    w.row(0, "Parameters:", labelsText(attributes.parameters))
    describeEvents(w, events, describing.now())
  })
}

export const describeCSINode: Describer = async (describing, _namespace, name) => {
  const node = await describing.client.get<CSINode>(of("csinodes"), "", name)
  const events = await eventsOf(describing, node)
  return description((w) => {
    describeClusterMetadata(w, node.metadata)
    w.row(0, "CreationTimestamp:", longTime(node.metadata.creationTimestamp, describing.zone))
    w.row(0, "Spec:")
    if (node.spec.drivers) w.row(1, "Drivers:")
    for (const driver of node.spec.drivers ?? []) {
      w.row(2, `${driver.name}:`)
      w.row(3, "Node ID:", driver.nodeID)
      const count = driver.allocatable?.count
      if (count !== undefined) {
        w.row(3, "Allocatables:")
        w.row(4, "Count:", count)
      }
      if (driver.topologyKeys) w.row(3, "Topology Keys:", `[${driver.topologyKeys.join(" ")}]`)
    }
    describeEvents(w, events, describing.now())
  })
}
