import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { NodeSelector } from "../../core/v1/pod/scheduling/affinity.ts"

/** The devices that drivers publish. Source: k8s.io/api resource/v1/types.go. */

export const Counter = message("resource.v1.Counter", "An amount that devices share.", {
  value: f.quantity(1, "The amount.").required(),
})
export interface Counter extends ObjectOf<typeof Counter> {}

export const CounterSet = message("resource.v1.CounterSet", "Amounts that several devices share.", {
  name: f.string(1, "Name of the set.").required().ownRule(),
  counters: f.map(2, Counter, "The amounts by their names.").required().ownRule(),
})
export interface CounterSet extends ObjectOf<typeof CounterSet> {}

export const DeviceCounterConsumption = message(
  "resource.v1.DeviceCounterConsumption",
  "What a device consumes of a counter set when it is allocated.",
  {
    counterSet: f.string(1, "Name of the set.").required().ownRule(),
    counters: f.map(2, Counter, "Consumed amounts, by counter name.").required().ownRule(),
  },
)
export interface DeviceCounterConsumption extends ObjectOf<typeof DeviceCounterConsumption> {}

export const DeviceAttribute = message("resource.v1.DeviceAttribute", "A property of a device, of one type.", {
  int: f.int64(2, "A number.").pointer(),
  bool: f.bool(3, "True or false.").pointer(),
  string: f.string(4, "A text.").pointer(),
  version: f.string(5, "A semantic version.").pointer(),
  ints: f.list(6, e.int64, "Numbers.").atomic().disabled(),
  bools: f.list(7, e.bool, "Truth values.").atomic().disabled(),
  strings: f.list(8, e.string, "Texts.").atomic().disabled(),
  versions: f.list(9, e.string, "Semantic versions.").atomic().disabled(),
})
export interface DeviceAttribute extends ObjectOf<typeof DeviceAttribute> {}

export const CapacityRequestPolicyRange = message(
  "resource.v1.CapacityRequestPolicyRange",
  "Amounts between two bounds.",
  {
    min: f.quantity(1, "The least.").required().ownRule(),
    max: f.quantity(2, "The most."),
    step: f.quantity(3, "Step between valid values."),
  },
)
export interface CapacityRequestPolicyRange extends ObjectOf<typeof CapacityRequestPolicyRange> {}

export const CapacityRequestPolicy = message(
  "resource.v1.CapacityRequestPolicy",
  "The amounts that requests may have.",
  {
    default: f.quantity(1, "Amount for requests that do not name one."),
    validValues: f.list(3, e.quantity, "The valid amounts.").atomic(),
    validRange: f.message(4, CapacityRequestPolicyRange, "The amounts between two bounds."),
  },
)
export interface CapacityRequestPolicy extends ObjectOf<typeof CapacityRequestPolicy> {}

export const DeviceCapacity = message("resource.v1.DeviceCapacity", "An amount that a device has.", {
  value: f.quantity(1, "The amount.").required(),
  requestPolicy: f.message(2, CapacityRequestPolicy, "Which amounts can be requested."),
})
export interface DeviceCapacity extends ObjectOf<typeof DeviceCapacity> {}

export const DeviceTaint = message(
  "resource.v1.DeviceTaint",
  "Keeps claims that do not tolerate the taint from using a device.",
  {
    key: f.string(1, "Key of the taint.").required().ownRule(),
    value: f.string(2, "Value of the taint."),
    effect: f
      .string(3, "Effect on claims that do not tolerate the taint.")
      .enum("NoExecute", "NoSchedule", "None")
      .required()
      .ownRule(),
    timeAdded: f.time(4, "Time at which the taint was added."),
  },
)
export interface DeviceTaint extends ObjectOf<typeof DeviceTaint> {}

export const NodeAllocatableResourceMapping = message(
  "resource.v1.NodeAllocatableResourceMapping",
  "How a device counts as a resource of its node.",
  {
    capacityKey: f.string(1, "The capacity that counts.").pointer(),
    allocationMultiplier: f.quantity(2, "Factor by which the capacity is multiplied."),
  },
)
export interface NodeAllocatableResourceMapping extends ObjectOf<typeof NodeAllocatableResourceMapping> {}

export const Device = message("resource.v1.Device", "A device that can be allocated.", {
  name: f.string(1, "Name of the device; unique in its pool.").required().ownRule(),
  attributes: f.map(2, DeviceAttribute, "Its properties."),
  capacity: f.map(3, DeviceCapacity, "Amounts that the device has, by name."),
  consumesCounters: f.list(4, DeviceCounterConsumption, "What the device consumes of shared counters.").atomic(),
  nodeName: f.string(5, "Node of the device; used when each device of the slice has its own.").pointer(),
  nodeSelector: f.message(
    6,
    NodeSelector,
    "Nodes that can use the device; used when each device of the slice has its own.",
  ),
  allNodes: f
    .bool(7, "Whether all nodes can use the device; used when each device of the slice has its own.")
    .pointer(),
  taints: f.list(8, DeviceTaint, "Taints that keep claims from using the device.").atomic(),
  bindsToNode: f.bool(9, "Whether the device is usable only on the node that was chosen for its claim.").pointer(),
  bindingConditions: f
    .list(10, e.string, "Conditions that must be true before a pod that uses the device is bound.")
    .atomic(),
  bindingFailureConditions: f.list(11, e.string, "Conditions by which the wait has failed.").atomic(),
  allowMultipleAllocations: f.bool(12, "Whether several claims can have it.").pointer(),
  nodeAllocatableResourceMappings: f
    .map(13, NodeAllocatableResourceMapping, "How it counts as resources of its node.")
    .disabled(),
})
export interface Device extends ObjectOf<typeof Device> {}

export const ResourcePool = message("resource.v1.ResourcePool", "Which slices belong together.", {
  name: f.string(1, "Name of the pool.").required().ownRule(),
  generation: f.int64(2, "Rises with every change of the pool; older slices do not count.").required(),
  resourceSliceCount: f.int64(3, "Number of slices that the pool has.").required(),
})
export interface ResourcePool extends ObjectOf<typeof ResourcePool> {}

export const ResourceSliceSpec = message("resource.v1.ResourceSliceSpec", "Some of the devices of a pool.", {
  driver: f.string(1, "Name of the driver.").required().ownRule(),
  pool: f.message(2, ResourcePool, "The pool.").required(),
  nodeName: f.string(3, "The node that has the devices.").pointer(),
  nodeSelector: f.message(4, NodeSelector, "The nodes that reach the devices."),
  allNodes: f.bool(5, "Whether every node reaches the devices.").pointer(),
  devices: f.list(6, Device, "The devices; at most 128.").atomic(),
  perDeviceNodeSelection: f.bool(7, "Whether each device says which nodes reach it.").pointer(),
  sharedCounters: f.list(8, CounterSet, "Amounts that devices of the pool share.").atomic(),
})
export interface ResourceSliceSpec extends ObjectOf<typeof ResourceSliceSpec> {}
