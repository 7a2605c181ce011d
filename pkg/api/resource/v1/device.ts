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
  "How much of a set a device takes when it is given.",
  {
    counterSet: f.string(1, "Name of the set.").required().ownRule(),
    counters: f.map(2, Counter, "What it takes, by the names of the amounts.").required().ownRule(),
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
    step: f.quantity(3, "By how much they differ."),
  },
)
export interface CapacityRequestPolicyRange extends ObjectOf<typeof CapacityRequestPolicyRange> {}

export const CapacityRequestPolicy = message("resource.v1.CapacityRequestPolicy", "Which amounts can be asked for.", {
  default: f.quantity(1, "What is given to who does not say."),
  validValues: f.list(3, e.quantity, "The amounts that there are.").atomic(),
  validRange: f.message(4, CapacityRequestPolicyRange, "The amounts between two bounds."),
})
export interface CapacityRequestPolicy extends ObjectOf<typeof CapacityRequestPolicy> {}

export const DeviceCapacity = message("resource.v1.DeviceCapacity", "How much a device has of something.", {
  value: f.quantity(1, "The amount.").required(),
  requestPolicy: f.message(2, CapacityRequestPolicy, "Which parts of it can be asked for."),
})
export interface DeviceCapacity extends ObjectOf<typeof DeviceCapacity> {}

export const DeviceTaint = message("resource.v1.DeviceTaint", "Keeps claims that do not tolerate it from a device.", {
  key: f.string(1, "Key of the taint.").required().ownRule(),
  value: f.string(2, "Value of the taint."),
  effect: f.string(3, "What it does to others.").enum("NoExecute", "NoSchedule", "None").required().ownRule(),
  timeAdded: f.time(4, "When it was added."),
})
export interface DeviceTaint extends ObjectOf<typeof DeviceTaint> {}

export const NodeAllocatableResourceMapping = message(
  "resource.v1.NodeAllocatableResourceMapping",
  "How a device counts as a resource of its node.",
  {
    capacityKey: f.string(1, "The capacity that counts.").pointer(),
    allocationMultiplier: f.quantity(2, "How often it counts."),
  },
)
export interface NodeAllocatableResourceMapping extends ObjectOf<typeof NodeAllocatableResourceMapping> {}

export const Device = message("resource.v1.Device", "A device that can be given.", {
  name: f.string(1, "Name of the device; unique in its pool.").required().ownRule(),
  attributes: f.map(2, DeviceAttribute, "Its properties."),
  capacity: f.map(3, DeviceCapacity, "How much it has of what."),
  consumesCounters: f.list(4, DeviceCounterConsumption, "What it takes of shared amounts.").atomic(),
  nodeName: f.string(5, "The node that has it, where each device says so.").pointer(),
  nodeSelector: f.message(6, NodeSelector, "The nodes that reach it, where each device says so."),
  allNodes: f.bool(7, "Whether every node reaches it, where each device says so.").pointer(),
  taints: f.list(8, DeviceTaint, "What keeps claims from it.").atomic(),
  bindsToNode: f.bool(9, "Whether a claim for it holds only on the node that was chosen.").pointer(),
  bindingConditions: f.list(10, e.string, "Conditions to wait for before a pod with it is bound.").atomic(),
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
