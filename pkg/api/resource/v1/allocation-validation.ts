import { isIP } from "node:net"
import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  tooLong,
  tooMany,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isCanonicalIPAddress } from "../../../apimachinery/validation/names.ts"
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaimStatus,
} from "./allocation.ts"
import {
  configurationFaults,
  extensionFaults,
  MOST_CONFIGURATIONS,
  requestNameFaults,
  requestReferenceFaults,
  type RequestNames,
} from "./deviceclaim-validation.ts"
import { nodeSelectorFaults } from "./node-selector.ts"
import { bindingFaults, driverFaults, labelName, listFaults, poolNameFaults, shareFaults } from "./names.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: validateResourceClaimStatusUpdate in pkg/apis/resource/validation. */

const MOST_CONSUMERS = 256
const MOST_RESULTS = 32
const MOST_CONDITIONS = 8
const LONGEST_DATA = 10 * 1024
const MOST_ADDRESSES = 16
const LONGEST_INTERFACE = 256
const LONGEST_HARDWARE_ADDRESS = 128

interface DeviceId {
  readonly driver: string
  readonly pool: string
  readonly device: string
  readonly shareID?: string | undefined
}
export const deviceKey = ({ driver, pool, device, shareID }: DeviceId): string =>
  `${driver}/${pool}/${device}${(shareID ?? "") === "" ? "" : `/${shareID}`}`

/** Returns the faults of a change of a status. An allocation cannot change until it is removed. */
export function claimStatusFaults(
  status: ResourceClaimStatus,
  old: ResourceClaimStatus,
  { isDeleted, names }: { readonly isDeleted: boolean; readonly names: RequestNames },
): readonly Cause[] {
  const { allocation, reservedFor = [], devices = [] } = status
  const given = new Set((allocation?.devices.results ?? []).map(deviceKey))
  const causes: Cause[] = [
    ...listFaults("reservedFor", reservedFor, {
      most: MOST_CONSUMERS,
      faults: (consumer) =>
        (["resource", "name", "uid"] as const).flatMap((field) => (consumer[field] === "" ? [required(field)] : [])),
      keyOf: ({ uid }) => uid,
    }),
    ...listFaults("devices", devices, {
      most: Infinity,
      faults: (device) => deviceStatusFaults(device, given),
      keyOf: deviceKey,
    }),
  ]
  if (reservedFor.length > 0 && allocation === undefined)
    causes.push(forbiddenField("reservedFor", "may not be specified when `allocated` is not set"))
  else if (isDeleted && reservedFor.some((one) => old.reservedFor?.some((before) => deepEqual(one, before)) !== true))
    causes.push(
      forbiddenField(
        "reservedFor",
        "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
      ),
    )
  if (allocation !== undefined)
    if (old.allocation === undefined) within(causes, allocationFaults(allocation, names), "allocation")
    else if (!deepEqual(allocation, old.allocation))
      causes.push(invalidValue("allocation", allocation, "field is immutable"))
  const found: Cause[] = []
  within(found, causes, "status")
  return found
}

function allocationFaults({ devices, nodeSelector }: AllocationResult, names: RequestNames): readonly Cause[] {
  const causes: Cause[] = []
  within(
    causes,
    [
      ...listFaults("results", devices.results ?? [], {
        most: MOST_RESULTS,
        faults: (result) => resultFaults(result, names),
      }),
      ...listFaults("config", devices.config ?? [], {
        most: 2 * MOST_CONFIGURATIONS,
        faults: (config) => allocatedConfigurationFaults(config, names),
      }),
    ],
    "devices",
  )
  return nodeSelector === undefined ? causes : [...causes, ...nodeSelectorFaults(nodeSelector)]
}

const resultFaults = (result: DeviceRequestAllocationResult, names: RequestNames): readonly Cause[] => [
  ...requestNameFaults("request", result.request, names),
  ...deviceFaults(result),
  ...bindingFaults(result),
]

const deviceFaults = ({ driver, pool, device, shareID }: DeviceId): readonly Cause[] => [
  ...driverFaults("driver", driver),
  ...poolNameFaults("pool", pool),
  ...labelName("device", device),
  ...(shareID === undefined ? NO_CAUSES : shareFaults("shareID", shareID)),
]

const SOURCES = ["FromClaim", "FromClass"]

function allocatedConfigurationFaults(
  { source, requests = [], opaque }: DeviceAllocationConfiguration,
  names: RequestNames,
): readonly Cause[] {
  const given: string = source
  return [
    ...(given === "" ? [required("source")] : SOURCES.includes(given) ? [] : [notSupported("source", given, SOURCES)]),
    ...requestReferenceFaults("requests", requests, names),
    ...configurationFaults(opaque),
  ]
}

function deviceStatusFaults(device: AllocatedDeviceStatus, given: ReadonlySet<string>): readonly Cause[] {
  const conditions = device.conditions ?? []
  return [
    ...deviceFaults(device),
    ...(given.has(deviceKey(device))
      ? []
      : [invalidValue("", deviceKey(device), "must be an allocated device in the claim")]),
    ...(conditions.length > MOST_CONDITIONS ? [tooMany("conditions", conditions.length, MOST_CONDITIONS)] : []),
    ...conditionFaults("conditions", conditions),
    ...(device.data === undefined ? [] : extensionFaults("data", device.data, LONGEST_DATA)),
    ...(device.networkData === undefined ? [] : networkFaults(device.networkData)),
  ]
}

function networkFaults({ interfaceName = "", hardwareAddress = "", ips = [] }: NetworkDeviceData): readonly Cause[] {
  const causes: Cause[] = []
  if (interfaceName.length > LONGEST_INTERFACE) causes.push(tooLong("interfaceName", LONGEST_INTERFACE))
  if (hardwareAddress.length > LONGEST_HARDWARE_ADDRESS)
    causes.push(tooLong("hardwareAddress", LONGEST_HARDWARE_ADDRESS))
  pushAll(
    causes,
    listFaults("ips", ips, {
      most: MOST_ADDRESSES,
      faults: (address) => invalidValues("", address, interfaceAddressProblem(address)),
      keyOf: (address) => address,
    }),
  )
  const found: Cause[] = []
  within(found, causes, "networkData")
  return found
}

/**
 * Returns why a text is not an address with a prefix length in canonical form; undefined when it is one. Source:
 * IsValidInterfaceAddress.
 */
function interfaceAddressProblem(value: string): string | undefined {
  const [address = "", bits = "", ...rest] = value.split("/")
  const isNetwork = rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (address.includes(":") ? 128 : 32)
  if (!isNetwork || isIP(address) === 0)
    return "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
  return isCanonicalIPAddress(address) === undefined && String(Number(bits)) === bits
    ? undefined
    : "must be in canonical form"
}
