import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, invalidValue, invalidValues } from "../../../apimachinery/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isQualifiedName } from "../../../apimachinery/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api storage/v1/types.go, ValidateCSINode in pkg/apis/storage/validation. */

export const VolumeNodeResources = message("storage.v1.VolumeNodeResources", "How many volumes a node can have.", {
  count: f.int32(1, "Most volumes of the driver on the node.").min(0).pointer(),
})
export interface VolumeNodeResources extends ObjectOf<typeof VolumeNodeResources> {}

export const CSINodeDriver = message("storage.v1.CSINodeDriver", "A driver on a node.", {
  name: f.string(1, "Name of the driver.").required(),
  nodeID: f.string(2, "How the driver names the node.").required(),
  topologyKeys: f.list(3, e.string, "Labels by which the driver tells places apart.").atomic().orNull(),
  allocatable: f.message(4, VolumeNodeResources, "How many volumes the node can have."),
})
export interface CSINodeDriver extends ObjectOf<typeof CSINodeDriver> {}

export const CSINodeSpec = message("storage.v1.CSINodeSpec", "The drivers of a node.", {
  drivers: f.list(1, CSINodeDriver, "The drivers.").listMap("name").merge("name").printZero().orNull(),
})
export interface CSINodeSpec extends ObjectOf<typeof CSINodeSpec> {}

const fields = {
  spec: f.message(2, CSINodeSpec, "The drivers of the node.").required(),
}
export interface CSINode extends ObjectFor<typeof fields> {}

export const CSINode = defineResource(
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "CSINode",
    plural: "csinodes",
    scope: "Cluster",
    doc: "The drivers of volumes on a node; it has the node's name.",
    columns: [
      { name: "Drivers", type: "integer", doc: "Number of drivers.", value: ({ spec }) => (spec.drivers ?? []).length },
    ],
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    validate: ({ spec }) => {
      const drivers = spec.drivers ?? []
      return [
        ...drivers.flatMap((driver, i) => driverFaults(driver, at("spec.drivers", i))),
        ...drivers.flatMap(({ name }, i) =>
          drivers.findIndex((other) => other.name === name) === i
            ? []
            : [duplicate(at("spec.drivers", i, "name"), name)],
        ),
      ]
    },
  },
  fields,
)

function driverFaults({ nodeID, topologyKeys: keys }: CSINodeDriver, here: string): readonly Cause[] {
  const topologyKeys = keys ?? []
  const causes: Cause[] = []
  if (nodeID.length > 192) causes.push(invalidValue(at(here, "nodeID"), nodeID, "must be 192 characters or less"))
  for (const [i, key] of topologyKeys.entries()) {
    causes.push(...invalidValues(at(here, "topologyKeys"), key, isQualifiedName(key)))
    if (topologyKeys.indexOf(key) !== i) causes.push(duplicate(at(here, "topologyKeys"), key))
  }
  return causes
}
