import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { Condition } from "../../../apimachinery/meta.ts"
import { NodeSelector } from "../../core/v1/pod/scheduling/affinity.ts"
import { configurationFields, DeviceToleration } from "./deviceclaim.ts"

/** The result of the allocation of a claim. Source: k8s.io/api resource/v1/types.go. */

const REQUEST = "The request that it is for: its name, or `<request>/<subrequest>`."
const DRIVER = "Name of the driver."
const POOL = "Name of the pool."
const DEVICE = "Name of the device in its pool."
const SHARE = "Tells shares of one device apart."

export const DeviceRequestAllocationResult = message(
  "resource.v1.DeviceRequestAllocationResult",
  "One allocated device.",
  {
    request: f.string(1, REQUEST).required().ownRule(),
    driver: f.string(2, DRIVER).required().ownRule(),
    pool: f.string(3, POOL).required().ownRule(),
    device: f.string(4, DEVICE).required().ownRule(),
    adminAccess: f.bool(5, "Whether others may have it at the same time.").pointer(),
    tolerations: f.list(6, DeviceToleration, "Tolerated taints, as in the request.").atomic(),
    bindingConditions: f.list(7, e.string, "Conditions to wait for before the pod is bound.").atomic(),
    bindingFailureConditions: f.list(8, e.string, "Conditions by which the wait has failed.").atomic(),
    shareID: f.string(9, SHARE).pointer(),
    consumedCapacity: f.map(10, e.quantity, "Allocated amounts of the device."),
  },
)
export interface DeviceRequestAllocationResult extends ObjectOf<typeof DeviceRequestAllocationResult> {}

export const DeviceAllocationConfiguration = message(
  "resource.v1.DeviceAllocationConfiguration",
  "Configuration for the driver of allocated devices.",
  {
    source: f.string(1, "Whether it comes from the class or the claim.").enum("FromClaim", "FromClass").required(),
    requests: f.list(2, e.string, "Requests to which the configuration applies; all when empty.").atomic(),
    ...configurationFields(3),
  },
)
export interface DeviceAllocationConfiguration extends ObjectOf<typeof DeviceAllocationConfiguration> {}

export const DeviceAllocationResult = message("resource.v1.DeviceAllocationResult", "The devices that were given.", {
  results: f.list(1, DeviceRequestAllocationResult, "Each device.").atomic(),
  config: f.list(2, DeviceAllocationConfiguration, "Configuration for drivers: that of the class first.").atomic(),
})
export interface DeviceAllocationResult extends ObjectOf<typeof DeviceAllocationResult> {}

export const AllocationResult = message(
  "resource.v1.AllocationResult",
  "The allocated devices, and the nodes on which they can be used.",
  {
    devices: f.message(1, DeviceAllocationResult, "The devices.").always(),
    nodeSelector: f.message(3, NodeSelector, "Nodes that can reach the devices; all unless given."),
    allocationTimestamp: f.time(5, "Time of the allocation."),
  },
)
export interface AllocationResult extends ObjectOf<typeof AllocationResult> {}

export const ResourceClaimConsumerReference = message(
  "resource.v1.ResourceClaimConsumerReference",
  "A consumer of a claim, in the claim's namespace.",
  {
    apiGroup: f.string(1, "API group of the resource; the core group when empty."),
    resource: f.string(3, "The resource, such as pods.").required().ownRule(),
    name: f.string(4, "Name of the object.").required().ownRule(),
    uid: f.string(5, "Its uid.").required().ownRule(),
  },
)
export interface ResourceClaimConsumerReference extends ObjectOf<typeof ResourceClaimConsumerReference> {}

export const NetworkDeviceData = message("resource.v1.NetworkDeviceData", "The network interface of a device.", {
  interfaceName: f.string(1, "Name of the interface."),
  ips: f.list(2, e.string, "Its addresses with the length of the network.").atomic(),
  hardwareAddress: f.string(3, "Its hardware address."),
})
export interface NetworkDeviceData extends ObjectOf<typeof NetworkDeviceData> {}

export const AllocatedDeviceStatus = message(
  "resource.v1.AllocatedDeviceStatus",
  "The state of an allocated device, as its driver reports it.",
  {
    driver: f.string(1, DRIVER).required().ownRule(),
    pool: f.string(2, POOL).required().ownRule(),
    device: f.string(3, DEVICE).required().ownRule(),
    shareID: f.string(7, SHARE).pointer(),
    conditions: f.list(4, Condition, "Its state, aspect by aspect.").listMap("type").orNull(),
    data: f.extension(5, "Data of the driver: a JSON object."),
    networkData: f.message(6, NetworkDeviceData, "The network interface of the device."),
  },
)
export interface AllocatedDeviceStatus extends ObjectOf<typeof AllocatedDeviceStatus> {}

export const ResourceClaimStatus = message(
  "resource.v1.ResourceClaimStatus",
  "The allocated devices, and their consumers.",
  {
    allocation: f.message(1, AllocationResult, "The allocated devices."),
    reservedFor: f
      .list(2, ResourceClaimConsumerReference, "Consumers of the claim; at most 256.")
      .listMap("uid")
      .merge("uid"),
    devices: f
      .list(4, AllocatedDeviceStatus, "What drivers say of the devices.")
      .listMap("driver", "device", "pool", "shareID"),
  },
)
export interface ResourceClaimStatus extends ObjectOf<typeof ResourceClaimStatus> {}
