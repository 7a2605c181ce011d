import { nodeSelectorWarnings } from "../../core/v1/node/node-label-warnings.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { invalidValue, invalidValues } from "../../../apimachinery/validation/field-errors.ts"
import { f } from "../../../apimachinery/fields.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/validation/names.ts"
import { quantity } from "../../../apimachinery/scalars/quantity.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api storage/v1/types.go, ValidateCSIStorageCapacity in pkg/apis/storage/validation. */

const fields = {
  nodeTopology: f.message(2, LabelSelector, "Labels of the nodes that can use the capacity; cannot be changed."),
  storageClassName: f.string(3, "StorageClass of the capacity; cannot be changed.").required().ownRule().immutable(),
  capacity: f.quantity(4, "Free capacity."),
  maximumVolumeSize: f.quantity(5, "How big a volume may be."),
}
export interface CSIStorageCapacity extends ObjectFor<typeof fields> {}

export const CSIStorageCapacity = defineResource(
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "How much storage of a class is free in a part of the cluster.",
    allowUnconditionalUpdate: false,
    warnings: ({ nodeTopology }) =>
      nodeTopology === undefined ? [] : nodeSelectorWarnings("nodeTopology", nodeTopology),
    validate: ({ storageClassName, nodeTopology, capacity }) => [
      ...(nodeTopology === undefined ? [] : labelSelectorFaults("nodeTopology", nodeTopology)),
      ...invalidValues("storageClassName", storageClassName, isDNS1123Subdomain(storageClassName)),
      ...(capacity !== undefined && quantity(capacity).nano < 0n
        ? [invalidValue("capacity", capacity, "must be greater than or equal to 0")]
        : []),
    ],
    validateUpdate: ({ nodeTopology }, old) =>
      deepEqual(nodeTopology, old.nodeTopology)
        ? []
        : [invalidValue("nodeTopology", nodeTopology, "field is immutable")],
  },
  fields,
)
