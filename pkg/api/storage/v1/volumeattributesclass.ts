import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { forbiddenField, required } from "../../../apimachinery/validation/field-errors.ts"
import { e, f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { parameterFaults, provisionerFaults } from "./storageclass.ts"

/** Source: k8s.io/api storage/v1/types.go, ValidateVolumeAttributesClass in pkg/apis/storage/validation. */

const fields = {
  driverName: f.string(2, "The driver that knows the attributes.").required(),
  parameters: f.map(3, e.string, "The attributes."),
}
export interface VolumeAttributesClass extends ObjectFor<typeof fields> {}

export const VolumeAttributesClass = defineResource(
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "VolumeAttributesClass",
    plural: "volumeattributesclasses",
    shortNames: ["vac"],
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "Attributes of volumes that can be changed while they are in use.",
    columns: [
      { name: "DriverName", type: "string", doc: "Name of the driver.", value: ({ driverName }) => driverName },
    ],
    returnsDeletedObject: true,
    validate: ({ driverName, parameters = {} }) => {
      const causes: Cause[] = [...provisionerFaults("driverName", driverName)]
      if (Object.keys(parameters).length === 0)
        causes.push(required("parameters", "must contain at least one key/value pair"))
      return [...causes, ...parameterFaults(parameters)]
    },
    validateUpdate: (attributes, old) => [
      ...(attributes.driverName === old.driverName
        ? []
        : [forbiddenField("driverName", "updates to driverName are forbidden.")]),
      ...(deepEqual(attributes.parameters, old.parameters)
        ? []
        : [forbiddenField("parameters", "updates to parameters are forbidden.")]),
    ],
  },
  fields,
)
