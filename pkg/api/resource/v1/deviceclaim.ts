import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

/** The devices that a claim requests. Source: k8s.io/api resource/v1/types.go, pkg/apis/resource/v1/defaults.go. */

export const CELDeviceSelector = message("resource.v1.CELDeviceSelector", "An expression in CEL about a device.", {
  expression: f
    .string(1, "CEL expression that must be true for a device to be chosen; `device` is the device.")
    .required()
    .ownRule(),
})
export interface CELDeviceSelector extends ObjectOf<typeof CELDeviceSelector> {}

export const DeviceSelector = message("resource.v1.DeviceSelector", "One condition that a device has to meet.", {
  cel: f.message(1, CELDeviceSelector, "The condition as an expression."),
})
export interface DeviceSelector extends ObjectOf<typeof DeviceSelector> {}

export const DeviceToleration = message("resource.v1.DeviceToleration", "Lets a request take a tainted device.", {
  key: f.string(1, "Key of the taint; every taint when empty."),
  operator: f.string(2, "How the value is compared: Exists or Equal.").enum("Equal", "Exists").default("Equal"),
  value: f.string(3, "Value of the taint."),
  effect: f.string(4, "Effect of the taint; every effect when empty.").enum("NoExecute", "NoSchedule", "None"),
  tolerationSeconds: f.int64(5, "For how long a taint with NoExecute is tolerated.").pointer(),
})
export interface DeviceToleration extends ObjectOf<typeof DeviceToleration> {}

export const CapacityRequirements = message("resource.v1.CapacityRequirements", "How much of a device is wanted.", {
  requests: f.map(1, e.quantity, "Wanted amounts by the name of the capacity."),
})
export interface CapacityRequirements extends ObjectOf<typeof CapacityRequirements> {}

interface Counted {
  readonly allocationMode?: "All" | "ExactCount" | undefined
  readonly count?: number | undefined
}
/** Sets the default count: one device. */
function withCount<T extends Counted>(request: T): T {
  const allocationMode = request.allocationMode ?? "ExactCount"
  if (allocationMode !== "ExactCount" || (request.count ?? 0) !== 0)
    return request.allocationMode === undefined ? { ...request, allocationMode } : request
  return { ...request, allocationMode, count: 1 }
}

const CLASS = "Name of the DeviceClass."
const SELECTORS = "Conditions that each device has to meet, beside those of the class."
const MODE = "ExactCount for `count` devices, All for all that fit."
const COUNT = "How many devices."
const TOLERATIONS = "Taints that the devices may have."
const CAPACITY = "How much of each device."

export const ExactDeviceRequest = message(
  "resource.v1.ExactDeviceRequest",
  "A request for devices of one kind.",
  {
    deviceClassName: f.string(1, CLASS).required().ownRule(),
    selectors: f.list(2, DeviceSelector, SELECTORS).atomic(),
    allocationMode: f.string(3, MODE).enum("All", "ExactCount"),
    count: f.int64(4, COUNT),
    adminAccess: f.bool(5, "Whether devices in use are taken too, to look after them.").pointer(),
    tolerations: f.list(6, DeviceToleration, TOLERATIONS).atomic(),
    capacity: f.message(7, CapacityRequirements, CAPACITY),
  },
  { defaults: withCount },
)
export interface ExactDeviceRequest extends ObjectOf<typeof ExactDeviceRequest> {}

export const DeviceSubRequest = message(
  "resource.v1.DeviceSubRequest",
  "One of several alternative requests; the first that can be satisfied is used.",
  {
    name: f.string(1, "Name of the subrequest; unique in the list.").required().ownRule(),
    deviceClassName: f.string(2, CLASS).required().ownRule(),
    selectors: f.list(3, DeviceSelector, SELECTORS).atomic(),
    allocationMode: f.string(4, MODE).enum("All", "ExactCount"),
    count: f.int64(5, COUNT),
    tolerations: f.list(6, DeviceToleration, TOLERATIONS).atomic(),
    capacity: f.message(7, CapacityRequirements, CAPACITY),
  },
  { defaults: withCount },
)
export interface DeviceSubRequest extends ObjectOf<typeof DeviceSubRequest> {}

export const DeviceRequest = message("resource.v1.DeviceRequest", "A request for devices, in one of two forms.", {
  name: f
    .string(1, "Name by which containers, constraints and configurations refer to the request.")
    .required()
    .ownRule(),
  exactly: f.message(2, ExactDeviceRequest, "Devices of one kind."),
  firstAvailable: f.list(3, DeviceSubRequest, "Alternatives, the most wanted first.").atomic(),
})
export interface DeviceRequest extends ObjectOf<typeof DeviceRequest> {}

export const DeviceConstraint = message(
  "resource.v1.DeviceConstraint",
  "A constraint on devices: attributes that they must share, or in which they must differ.",
  {
    requests: f.list(1, e.string, "Requests to which this applies; all when empty.").atomic(),
    matchAttribute: f.string(2, "An attribute that all the devices have with the same value.").pointer(),
    distinctAttribute: f.string(3, "An attribute that all the devices have with different values.").pointer(),
  },
)
export interface DeviceConstraint extends ObjectOf<typeof DeviceConstraint> {}

export const OpaqueDeviceConfiguration = message(
  "resource.v1.OpaqueDeviceConfiguration",
  "Parameters that only the driver understands.",
  {
    driver: f.string(1, "Name of the driver.").required().ownRule(),
    parameters: f.extension(2, "Parameters for the driver: a JSON object.").required().ownRule(),
  },
)
export interface OpaqueDeviceConfiguration extends ObjectOf<typeof OpaqueDeviceConfiguration> {}

/** Go embeds this struct in others; `number` is its number in protobuf there. */
export const configurationFields = <N extends number>(number: N) => ({
  opaque: f.message(1, OpaqueDeviceConfiguration, "Configuration for a driver.").embeddedIn(number),
})

export const DeviceClaimConfiguration = message(
  "resource.v1.DeviceClaimConfiguration",
  "Configuration for the drivers of a claim's devices.",
  {
    requests: f.list(1, e.string, "Requests to which this applies; all when empty.").atomic(),
    ...configurationFields(2),
  },
)
export interface DeviceClaimConfiguration extends ObjectOf<typeof DeviceClaimConfiguration> {}

export const DeviceClaim = message("resource.v1.DeviceClaim", "The devices that are wanted.", {
  requests: f.list(1, DeviceRequest, "The requests; all of them are satisfied, or none.").atomic().orNull(),
  constraints: f.list(2, DeviceConstraint, "Constraints across the chosen devices.").atomic(),
  config: f.list(3, DeviceClaimConfiguration, "Configuration for drivers.").atomic(),
})
export interface DeviceClaim extends ObjectOf<typeof DeviceClaim> {}

export const ResourceClaimSpec = message("resource.v1.ResourceClaimSpec", "The requested devices. Cannot be changed.", {
  devices: f.message(1, DeviceClaim, "The devices that are wanted.").always(),
})
export interface ResourceClaimSpec extends ObjectOf<typeof ResourceClaimSpec> {}
