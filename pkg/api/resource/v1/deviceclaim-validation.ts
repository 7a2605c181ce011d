import { Buffer } from "node:buffer"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  invalidValue,
  invalidWithoutValue,
  NO_CAUSES,
  notSupported,
  required,
  tooLong,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import { deviceExpressionFaults } from "./device-expression.ts"
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
  ExactDeviceRequest,
  OpaqueDeviceConfiguration,
} from "./deviceclaim.ts"
import {
  classNameFaults,
  driverFaults,
  fullAttributeNameFaults,
  labelName,
  labelValue,
  listFaults,
  qualifiedLabel,
} from "./names.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: pkg/apis/resource/validation/validation.go. */

const MOST_REQUESTS = 32
const MOST_SELECTORS = 32
const MOST_CONSTRAINTS = 32
export const MOST_CONFIGURATIONS = 32
const MOST_ALTERNATIVES = 8
const MOST_TOLERATIONS = 16
const LONGEST_PARAMETERS = 10 * 1024
const ONE_FORM = "exactly one of `exactly` or `firstAvailable` is required"
const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

/** The names of the requests of a claim, each with the names of its alternatives, if any. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>

export const requestNamesOf = ({ requests }: DeviceClaim): RequestNames =>
  new Map(
    (requests ?? []).map(({ name, firstAvailable = [] }) => [name, new Set(firstAvailable.map((one) => one.name))]),
  )

export function deviceClaimFaults(claim: DeviceClaim): readonly Cause[] {
  const { constraints = [], config = [] } = claim
  const names = requestNamesOf(claim)
  return [
    ...listFaults("requests", claim.requests ?? [], {
      most: MOST_REQUESTS,
      faults: requestFaults,
      keyOf: ({ name }) => name,
    }),
    ...listFaults("constraints", constraints, {
      most: MOST_CONSTRAINTS,
      faults: (constraint) => constraintFaults(constraint, names),
    }),
    ...listFaults("config", config, {
      most: MOST_CONFIGURATIONS,
      faults: ({ requests: of = [], opaque }) => [
        ...requestReferenceFaults("requests", of, names),
        ...configurationFaults(opaque),
      ],
    }),
  ]
}

function requestFaults({ name, exactly, firstAvailable = [] }: DeviceRequest): readonly Cause[] {
  const causes: Cause[] = [...labelName("name", name)]
  if (exactly === undefined && firstAvailable.length === 0) causes.push(required("", ONE_FORM))
  else if (exactly !== undefined && firstAvailable.length > 0)
    causes.push(invalidWithoutValue("", `${ONE_FORM}, but multiple fields are set`))
  else if (exactly !== undefined) within(causes, exactFaults(exactly), "exactly")
  else
    pushAll(
      causes,
      listFaults("firstAvailable", firstAvailable, {
        most: MOST_ALTERNATIVES,
        faults: (one) => [...labelName("name", one.name), ...exactFaults(one)],
        keyOf: (one) => one.name,
      }),
    )
  return causes
}

function exactFaults({
  deviceClassName,
  selectors = [],
  allocationMode,
  count = 0,
  tolerations = [],
}: Omit<ExactDeviceRequest, "adminAccess">): readonly Cause[] {
  return [
    ...classNameFaults("deviceClassName", deviceClassName),
    ...selectorFaults(selectors),
    ...countFaults(allocationMode, count),
    ...listFaults("tolerations", tolerations, { most: MOST_TOLERATIONS, faults: tolerationFaults }),
  ]
}

function countFaults(mode: string | undefined, count: number): readonly Cause[] {
  if (mode === "All")
    return count === 0
      ? NO_CAUSES
      : [invalidValue("count", count, "must not be specified when allocationMode is 'All'")]
  if (mode === "ExactCount") return count > 0 ? NO_CAUSES : [invalidValue("count", count, "must be greater than zero")]
  return [notSupported("allocationMode", mode ?? "", ["All", "ExactCount"])]
}

export const selectorFaults = (selectors: readonly DeviceSelector[]): readonly Cause[] =>
  listFaults("selectors", selectors, {
    most: MOST_SELECTORS,
    faults: ({ cel }) =>
      cel === undefined ? [required("cel")] : deviceExpressionFaults("cel.expression", cel.expression),
  })

function constraintFaults(
  { requests = [], matchAttribute, distinctAttribute }: DeviceConstraint,
  names: RequestNames,
): readonly Cause[] {
  const causes: Cause[] = [...requestReferenceFaults("requests", requests, names)]
  if (matchAttribute !== undefined) pushAll(causes, fullAttributeNameFaults("matchAttribute", matchAttribute))
  else if (distinctAttribute !== undefined)
    pushAll(causes, fullAttributeNameFaults("distinctAttribute", distinctAttribute))
  else
    causes.push(
      required("", 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'),
    )
  return causes
}

export const requestReferenceFaults = (
  field: string,
  requests: readonly string[],
  names: RequestNames,
): readonly Cause[] =>
  listFaults(field, requests, {
    most: MOST_REQUESTS,
    faults: (name) => requestNameFaults("", name, names),
    keyOf: (name) => name,
  })

/** Validates the name of a request of the claim, or of an alternative of one. */
export function requestNameFaults(field: string, name: string, names: RequestNames): readonly Cause[] {
  const parts = name.split("/")
  const [request = "", alternative] = parts
  if (parts.length > 2) return [invalidValue(field, name, NO_REQUEST)]
  const known = names.get(request)
  const isKnown = known !== undefined && (alternative === undefined || known.has(alternative))
  return [
    ...parts.flatMap((part) => labelName(field, part)),
    ...(isKnown ? [] : [invalidValue(field, name, NO_REQUEST)]),
  ]
}

export function configurationFaults(opaque: OpaqueDeviceConfiguration | undefined): readonly Cause[] {
  if (opaque === undefined) return [required("opaque")]
  const causes: Cause[] = []
  within(
    causes,
    [...driverFaults("driver", opaque.driver), ...extensionFaults("parameters", opaque.parameters, LONGEST_PARAMETERS)],
    "opaque",
  )
  return causes
}

/** Returns the faults of JSON that must be an object and not too long. */
export function extensionFaults(field: string, value: unknown, longest: number): readonly Cause[] {
  if (value === undefined || value === null) return [required(field)]
  if (Buffer.byteLength(JSON.stringify(value)) > longest) return [tooLong(field, longest)]
  return isJsonObject(value) ? NO_CAUSES : [invalidValue(field, "<value omitted>", "must be a valid JSON object")]
}

const EFFECTS = ["NoExecute", "NoSchedule", "None"]

export function tolerationFaults({ key = "", operator, value = "", effect }: DeviceToleration): readonly Cause[] {
  const causes: Cause[] = key === "" ? [] : [...qualifiedLabel("key", key)]
  const given: string = operator
  if (given === "Exists") {
    if (value !== "") causes.push(invalidValue("value", value, "must be empty for operator `Exists`"))
  } else if (given === "Equal") pushAll(causes, labelValue("value", value))
  else causes.push(notSupported("operator", given, ["Equal", "Exists"]))
  if (effect !== undefined && !EFFECTS.includes(effect)) causes.push(notSupported("effect", effect, EFFECTS))
  return causes
}
