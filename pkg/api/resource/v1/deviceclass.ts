import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, within } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { isExtendedResource } from "../../core/v1/resources/resource-names.ts"
import { configurationFields, DeviceSelector } from "./deviceclaim.ts"
import { configurationFaults, MOST_CONFIGURATIONS, selectorFaults } from "./deviceclaim-validation.ts"
import { listFaults } from "./names.ts"

/** Source: k8s.io/api resource/v1/types.go, pkg/registry/resource/deviceclass/strategy.go. */

export const DeviceClassConfiguration = message(
  "resource.v1.DeviceClassConfiguration",
  "Configuration for drivers, for every device of the class.",
  configurationFields(1),
)
export interface DeviceClassConfiguration extends ObjectOf<typeof DeviceClassConfiguration> {}

export const DeviceClassSpec = message("resource.v1.DeviceClassSpec", "Which devices belong to the class.", {
  selectors: f.list(1, DeviceSelector, "Conditions that a device has to meet.").atomic(),
  config: f.list(2, DeviceClassConfiguration, "Configuration for drivers.").atomic(),
  extendedResourceName: f.string(4, "Extended resource by which pods can request devices of the class.").pointer(),
})
export interface DeviceClassSpec extends ObjectOf<typeof DeviceClassSpec> {}

const fields = {
  spec: f.message(2, DeviceClassSpec, "Which devices belong to the class.").required().ownRule(),
}
export interface DeviceClass extends ObjectFor<typeof fields> {}

export const DeviceClass = defineResource(
  {
    group: "resource.k8s.io",
    version: "v1",
    kind: "DeviceClass",
    plural: "deviceclasses",
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1, generateName: false },
    generation: true,
    returnsDeletedObject: true,
    columns: [],
    doc: "A class of devices that claims can request.",
    validateSpec: ({ spec }) => classFaults(spec),
  },
  fields,
)

function classFaults({ selectors = [], config = [], extendedResourceName: name }: DeviceClassSpec): readonly Cause[] {
  const causes: Cause[] = []
  within(
    causes,
    [
      ...selectorFaults(selectors),
      ...listFaults("config", config, {
        most: MOST_CONFIGURATIONS,
        faults: ({ opaque }) => configurationFaults(opaque),
      }),
      ...(name === undefined || isExtendedResource(name)
        ? []
        : [invalidValue("extendedResourceName", name, "must be a valid extended resource name")]),
    ],
    "spec",
  )
  return causes
}
