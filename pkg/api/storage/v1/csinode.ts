import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  required,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { driverName } from "../../core/v1/path-validation.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: k8s.io/api storage/v1/types.go, ValidateCSINode in pkg/apis/storage/validation. */

export const VolumeNodeResources = message("storage.v1.VolumeNodeResources", "How many volumes a node can have.", {
  count: f.int32(1, "Most volumes of the driver on the node.").min(0).pointer(),
})
export interface VolumeNodeResources extends ObjectOf<typeof VolumeNodeResources> {}

export const CSINodeDriver = message("storage.v1.CSINodeDriver", "A driver on a node.", {
  name: f.string(1, "Name of the driver.").required(),
  nodeID: f.string(2, "How the driver names the node.").required(),
  topologyKeys: f.list(3, e.string, "Label keys of the driver's topology.").atomic().orNull(),
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
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 1 },
    doc: "The drivers of volumes on a node; it has the node's name.",
    columns: [
      { name: "Drivers", type: "integer", doc: "Number of drivers.", value: ({ spec }) => (spec.drivers ?? []).length },
    ],
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    validateSpec: ({ spec }) => {
      const drivers = spec.drivers ?? []
      const causes: Cause[] = []
      const again = repeated(drivers, ({ name }) => name)
      for (const [i, driver] of drivers.entries()) {
        within(causes, driverFaults(driver), "spec.drivers", i)
        if (again.has(i)) causes.push(duplicate(at("spec.drivers", i, "name"), driver.name))
      }
      return causes
    },
    validateSpecUpdate({ spec }, old) {
      const byName = Map.groupBy(spec.drivers ?? [], ({ name }) => name)
      return (old.spec.drivers ?? []).flatMap((before) =>
        (byName.get(before.name) ?? [])
          .filter((now) => !deepEqual(withoutCount(now), withoutCount(before)))
          .map((now) => invalidValue("spec.drivers", goForm(CSINodeDriver, withoutCount(now)), "field is immutable")),
      )
    },
  },
  fields,
)

/** Only the number of volumes that a node supports may change; other fields of a driver may not. */
const withoutCount = ({ allocatable: _count, ...driver }: CSINodeDriver): CSINodeDriver => driver

const LONGEST_NODE_ID = 256

function driverFaults({ name, nodeID, topologyKeys: keys }: CSINodeDriver): readonly Cause[] {
  const causes: Cause[] = name === "" ? [] : [...driverName("name", name)]
  if (Buffer.byteLength(nodeID) > LONGEST_NODE_ID)
    causes.push(invalidValue("nodeID", nodeID, `must be ${LONGEST_NODE_ID} characters or less`))
  // Upstream gives the path of the driver instead of that of the key.
  const topologyKeys = keys ?? []
  const again = repeated(topologyKeys, (key) => key)
  for (const [i, key] of topologyKeys.entries()) {
    if (key === "") causes.push(required(""))
    if (again.has(i)) causes.push(duplicate("", key))
    pushAll(causes, invalidValues("", key, isQualifiedName(key)))
  }
  return causes
}
