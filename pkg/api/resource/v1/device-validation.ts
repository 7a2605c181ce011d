import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  atKey,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  invalidWithoutValue,
  NO_CAUSES,
  notSupported,
  required,
  tooLong,
  tooMany,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/validation/names.ts"
import { compareQuantities, quantity, unitsOf } from "../../../apimachinery/scalars/quantity.ts"
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  Counter,
  Device,
  DeviceAttribute,
  DeviceCapacity,
  DeviceTaint,
  ResourceSliceSpec,
} from "./device.ts"
import { nodeSelectorFaults } from "./node-selector.ts"
import {
  attributeNameFaults,
  bindingFaults,
  driverFaults,
  labelName,
  labelValue,
  listFaults,
  poolNameFaults,
  qualifiedLabel,
} from "./names.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: validateResourceSliceSpec in pkg/apis/resource/validation. */

const MOST_DEVICES = 128
const MOST_DEVICES_IN_DEPTH = 64
const MOST_COUNTER_SETS = 8
const MOST_COUNTERS = 32
const MOST_CONSUMPTIONS = 2
const MOST_TAINTS = 16
const MOST_NAMES = 32
const MOST_OPTIONS = 10
const LONGEST_VALUE = 64
const SET_TO_TRUE = "must be either unset or set to true"
const ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
const ONE_PLACE_OF_DEVICE =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"

export function sliceFaults(spec: ResourceSliceSpec, old: ResourceSliceSpec | undefined): readonly Cause[] {
  const { driver, pool, devices = [], sharedCounters = [] } = spec
  const causes: Cause[] = [...driverFaults("driver", driver), ...poolNameFaults("pool.name", pool.name)]
  if (pool.resourceSliceCount <= 0)
    causes.push(invalidValue("pool.resourceSliceCount", pool.resourceSliceCount, "must be greater than zero"))
  if (pool.generation < 0)
    causes.push(invalidValue("pool.generation", pool.generation, "must be greater than or equal to zero"))
  if (old !== undefined) {
    if (pool.name !== old.pool.name) causes.push(invalidValue("pool.name", pool.name, "field is immutable"))
    if (driver !== old.driver) causes.push(invalidValue("driver", driver, "field is immutable"))
    if (spec.nodeName !== old.nodeName) causes.push(invalidValue("nodeName", spec.nodeName, "field is immutable"))
  }
  pushAll(causes, placeFaults(spec))
  if (spec.sharedCounters !== undefined && spec.devices !== undefined)
    causes.push(invalidValue("", "", "only one of `sharedCounters` or `devices` is allowed"))
  const inDepth = devices.some(
    ({ taints = [], consumesCounters = [] }) => taints.length > 0 || consumesCounters.length > 0,
  )
  pushAll(
    causes,
    listFaults("devices", devices, {
      most: inDepth ? MOST_DEVICES_IN_DEPTH : MOST_DEVICES,
      faults: (device) =>
        deviceFaults(
          device,
          old?.devices?.find(({ name }) => name === device.name),
          spec.perDeviceNodeSelection === true,
        ),
      keyOf: ({ name }) => name,
    }),
    listFaults("sharedCounters", sharedCounters, {
      most: MOST_COUNTER_SETS,
      faults: ({ name, counters }) => [...counterNameFaults("name", name), ...countersFaults(counters)],
      keyOf: ({ name }) => name,
    }),
  )
  const found: Cause[] = []
  within(found, causes, "spec")
  return found
}

function placeFaults({
  nodeName,
  nodeSelector,
  allNodes,
  perDeviceNodeSelection,
}: ResourceSliceSpec): readonly Cause[] {
  const causes: Cause[] = []
  const given: string[] = []
  if (nodeName === "")
    causes.push(invalidValue("nodeName", nodeName, "must be either unset or set to a non-empty string"))
  else if (nodeName !== undefined) {
    given.push("`nodeName`")
    pushAll(causes, invalidValues("nodeName", nodeName, isDNS1123Subdomain(nodeName)))
  }
  if (nodeSelector !== undefined) {
    given.push("`nodeSelector`")
    pushAll(causes, nodeSelectorFaults(nodeSelector))
    if ((nodeSelector as Partial<typeof nodeSelector>).nodeSelectorTerms?.length !== 1)
      causes.push(
        invalidValue(
          "nodeSelector.nodeSelectorTerms",
          nodeSelector.nodeSelectorTerms,
          "must have exactly one node selector term",
        ),
      )
  }
  for (const [field, value] of Object.entries({ allNodes, perDeviceNodeSelection })) {
    if (value === true) given.push(`\`${field}\``)
    else if (value === false) causes.push(invalidValue(field, value, SET_TO_TRUE))
  }
  if (given.length === 0) causes.push(required("", ONE_PLACE))
  else if (given.length > 1)
    causes.push(invalidValue("", `{${given.join(", ")}}`, `${ONE_PLACE}, but multiple fields are set`))
  return causes
}

function deviceFaults(device: Device, old: Device | undefined, saysPlace: boolean): readonly Cause[] {
  const { attributes = {}, capacity = {}, taints = [], consumesCounters = [] } = device
  const causes: Cause[] = [...labelName("name", device.name)]
  const names = Object.keys(attributes).length + Object.keys(capacity).length
  if (names > MOST_NAMES)
    causes.push(invalidValue("", names, `the total number of attributes and capacities must not exceed ${MOST_NAMES}`))
  for (const [name, attribute] of Object.entries(attributes)) {
    pushAll(causes, attributeNameFaults("attributes", name))
    within(causes, attributeFaults(attribute), atKey("attributes", name))
  }
  for (const [name, amount] of Object.entries(capacity)) {
    pushAll(causes, attributeNameFaults("capacity", name))
    within(causes, capacityFaults(amount, device.allowMultipleAllocations === true), atKey("capacity", name))
  }
  if (old === undefined || !deepEqual(taints, old.taints ?? []))
    pushAll(causes, listFaults("taints", taints, { most: MOST_TAINTS, faults: taintFaults }))
  pushAll(
    causes,
    listFaults("consumesCounters", consumesCounters, {
      most: MOST_CONSUMPTIONS,
      faults: ({ counterSet, counters }) => [
        ...counterNameFaults("counterSet", counterSet),
        ...countersFaults(counters),
      ],
      keyOf: ({ counterSet }) => counterSet,
    }),
    devicePlaceFaults(device, saysPlace),
    bindingFaults(device),
  )
  return causes
}

function devicePlaceFaults({ nodeName, nodeSelector, allNodes }: Device, saysPlace: boolean): readonly Cause[] {
  if (!saysPlace)
    return nodeName === undefined && nodeSelector === undefined && allNodes === undefined
      ? NO_CAUSES
      : [
          invalidWithoutValue(
            "",
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
          ),
        ]
  const causes: Cause[] = []
  const given: string[] = []
  if (nodeName === "") causes.push(invalidValue("nodeName", nodeName, "must not be empty"))
  else if (nodeName !== undefined) {
    given.push("`nodeName`")
    pushAll(causes, invalidValues("nodeName", nodeName, isDNS1123Subdomain(nodeName)))
  }
  if (nodeSelector !== undefined) {
    given.push("`nodeSelector`")
    pushAll(causes, nodeSelectorFaults(nodeSelector))
  }
  if (allNodes === true) given.push("`allNodes`")
  else if (allNodes === false) causes.push(invalidValue("allNodes", allNodes, SET_TO_TRUE))
  if (given.length === 0) causes.push(required("", ONE_PLACE_OF_DEVICE))
  else if (given.length > 1) causes.push(invalidValue("", `{${given.join(", ")}}`, ONE_PLACE_OF_DEVICE))
  return causes
}

const NUMBER = "(0|[1-9]\\d*)"
const PRERELEASE = "(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)"
const BUILD = "[0-9a-zA-Z-]+"
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRERELEASE}(\\.${PRERELEASE})*)?(\\+${BUILD}(\\.${BUILD})*)?$`,
)

function attributeFaults(attribute: DeviceAttribute): readonly Cause[] {
  const { string, version } = attribute
  const causes: Cause[] = []
  if (string !== undefined && Buffer.byteLength(string) > LONGEST_VALUE) causes.push(tooLong("string", LONGEST_VALUE))
  if (version !== undefined) {
    // Text that is too long is not matched against the pattern.
    if (version.length > LONGEST_VALUE || !SEMVER.test(version))
      causes.push(invalidValue("version", version, "must be a string compatible with semver.org spec 2.0.0"))
    if (version.length > LONGEST_VALUE) causes.push(tooLong("version", LONGEST_VALUE))
  }
  if (Object.keys(attribute).length !== 1)
    causes.push(
      Object.keys(attribute).length === 0
        ? invalidValue("", "", "exactly one value must be specified")
        : invalidValue("", attribute, "exactly one value must be specified"),
    )
  return causes
}

const EFFECTS = ["NoExecute", "NoSchedule", "None"]

export function taintFaults({ key, value = "", effect }: DeviceTaint): readonly Cause[] {
  const given: string = effect
  return [
    ...qualifiedLabel("key", key),
    ...(value === "" ? [] : labelValue("value", value)),
    ...(given === "" ? [required("effect")] : EFFECTS.includes(given) ? [] : [notSupported("effect", given, EFFECTS)]),
  ]
}

const counterNameFaults = (field: string, name: string): readonly Cause[] =>
  name === "" ? [required(field)] : labelName(field, name)

function countersFaults(counters: Readonly<Record<string, Counter>> | undefined = {}): readonly Cause[] {
  const names = Object.keys(counters)
  if (names.length === 0) return [required("counters")]
  if (names.length > MOST_COUNTERS) return [tooMany("counters", names.length, MOST_COUNTERS)]
  return names.flatMap((name) => labelName("counters", name))
}

function capacityFaults({ value, requestPolicy }: DeviceCapacity, isShared: boolean): readonly Cause[] {
  if (requestPolicy === undefined) return NO_CAUSES
  if (!isShared) return [forbiddenField("requestPolicy", "allowMultipleAllocations must be true")]
  const causes: Cause[] = []
  within(causes, policyFaults(value, requestPolicy), "requestPolicy")
  return causes
}

function policyFaults(most: string, { default: usual, validValues = [], validRange }: CapacityRequestPolicy) {
  if (validValues.length > 0 && validRange !== undefined)
    return [
      forbiddenField(
        "",
        'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
      ),
    ]
  if (validValues.length > 0)
    return usual === undefined
      ? [required("default", "required when validValues is defined")]
      : optionFaults(usual, most, validValues)
  if (validRange === undefined) return NO_CAUSES
  if (usual === undefined) return [required("default", "required when validRange is defined")]
  const causes: Cause[] = []
  within(causes, rangeFaults(usual, most, validRange), "validRange")
  return causes
}

const compare = (a: string, b: string): number => compareQuantities(quantity(a), quantity(b))

function optionFaults(usual: string, most: string, options: readonly string[]): readonly Cause[] {
  const causes: Cause[] = []
  for (const [i, option] of options.entries())
    if (i > 0 && compare(options[i - 1]!, option) > 0)
      causes.push(invalidValue(`validValues[${i}]`, option, "values must be sorted in ascending order"))
  if (options.length > MOST_OPTIONS) causes.push(tooMany("validValues", options.length, MOST_OPTIONS))
  else
    for (const [i, option] of options.entries()) {
      if (compare(option, most) > 0)
        causes.push(invalidValue(`validValues[${i}]`, option, `option is larger than capacity value: ${most}`))
      if (options.findIndex((other) => unitsOf(other) === unitsOf(option)) < i)
        causes.push(duplicate(`validValues[${i}]`, String(unitsOf(option))))
    }
  if (options.length > MOST_OPTIONS || !options.some((option) => compare(option, usual) === 0))
    causes.push(invalidValue("validValues", usual, "default value is not valid according to the requestPolicy"))
  return causes
}

function rangeFaults(usual: string, most: string, range: CapacityRequestPolicyRange): readonly Cause[] {
  const min = range.min as string | undefined
  const { max, step } = range
  if (min === undefined) return [required("min", "required when validRange is defined")]
  const causes: Cause[] = []
  const refuse = (field: string, value: string, detail: string) => causes.push(invalidValue(field, value, detail))
  if (compare(min, most) > 0) refuse("min", min, `min is larger than capacity value: ${most}`)
  if (compare(usual, min) < 0) refuse("min", usual, `default is less than min: ${min}`)
  if (max !== undefined) {
    if (compare(min, max) > 0) refuse("max", min, `min is larger than max: ${max}`)
    if (compare(max, most) > 0) refuse("max", max, `max is larger than capacity value: ${most}`)
    if (compare(usual, max) > 0) refuse("max", usual, `default is more than max: ${max}`)
  }
  if (step === undefined) return causes
  const first = quantity(min).nano + quantity(step).nano
  if (first > quantity(most).nano) refuse("step", step, `one step is larger than capacity value: ${most}`)
  for (const value of max === undefined ? [usual] : [usual, max])
    if (unitsOf(step) === 0 || (unitsOf(value) - unitsOf(min)) % unitsOf(step) !== 0)
      refuse("step", value, `value is not a multiple of a given step (${step}) from (${min})`)
  return causes
}
