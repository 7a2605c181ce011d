import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { ResourceSliceSpec } from "./device.ts"
import { sliceFaults } from "./device-validation.ts"

/** Source: k8s.io/api resource/v1/types.go, pkg/registry/resource/resourceslice/strategy.go. */

const fields = {
  spec: f.message(2, ResourceSliceSpec, "The devices, and the nodes that can use them.").required().ownRule(),
}
export interface ResourceSlice extends ObjectFor<typeof fields> {}

export const ResourceSlice = defineResource(
  {
    group: "resource.k8s.io",
    version: "v1",
    kind: "ResourceSlice",
    plural: "resourceslices",
    scope: "Cluster",
    generation: true,
    returnsDeletedObject: true,
    doc: "Some of the devices that a driver offers.",
    columns: [
      { name: "Node", type: "string", doc: "Node that has the devices.", value: ({ spec }) => spec.nodeName ?? "" },
      { name: "Driver", type: "string", doc: "Name of the driver.", value: ({ spec }) => spec.driver },
      { name: "Pool", type: "string", doc: "Name of the pool of devices.", value: ({ spec }) => spec.pool.name },
    ],
    fieldSelectors: {
      "spec.nodeName": ({ spec }) => spec.nodeName ?? "",
      "spec.driver": ({ spec }) => spec.driver,
    },
    prepareForCreate: (slice, { now }) => withTimes(slice, now),
    prepareForUpdate: (slice, _old, { now }) => withTimes(slice, now),
    validateSpec: ({ spec }, old) => sliceFaults(spec, old?.spec),
  },
  fields,
)

/** Sets the time of taints that have none to now. Source: SetDefaults_DeviceTaint. */
function withTimes(slice: ResourceSlice, now: string): ResourceSlice {
  const { devices = [] } = slice.spec
  if (!devices.some(({ taints = [] }) => taints.some(({ timeAdded }) => timeAdded === undefined))) return slice
  const timed = devices.map((device) =>
    device.taints === undefined
      ? device
      : { ...device, taints: device.taints.map((taint) => ({ timeAdded: now, ...taint })) },
  )
  return { ...slice, spec: { ...slice.spec, devices: timed } }
}
