import type { Cause } from "../../../../apimachinery/errors.ts"
import { invalidValue, invalidValues, NO_CAUSES } from "../../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../../apimachinery/validation/names.ts"
import { compareQuantities, parseQuantity, quantity, type Quantity } from "../../../../apimachinery/scalars/quantity.ts"

/**
 * Names of resources, and the amounts that are valid for them. Source: pkg/apis/core/helper/helpers.go,
 * validateResourceName in pkg/apis/core/validation/validation.go.
 */

const COMPUTE = ["cpu", "memory", "ephemeral-storage"]
const COUNTED: ReadonlySet<string> = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
])
const OF_CONTAINERS: ReadonlySet<string> = new Set(COMPUTE)
const OF_QUOTAS: ReadonlySet<string> = new Set([
  ...COMPUTE,
  ...COMPUTE.map((name) => `requests.${name}`),
  ...COMPUTE.map((name) => `limits.${name}`),
  "requests.storage",
  ...COUNTED,
])

export const isHugePages = (name: string): boolean => name.startsWith("hugepages-")
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith("requests.hugepages-")

/** Returns whether a resource is Kubernetes' own: its name has no prefix, or one with kubernetes.io. */
export const isNativeResource = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/")

/**
 * Returns whether a resource is an extended one, such as a device: its name has the prefix of its vendor, and is short
 * enough for quotas.
 */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) && !name.startsWith("requests.") && isQualifiedName(`requests.${name}`) === undefined

/** Returns whether the limit of a resource may exceed its request. It may not for devices and huge pages. */
export const mayOvercommit = (name: string): boolean => isNativeResource(name) && !isHugePages(name)

/** Validates the name of a resource: it must be known to Kubernetes or have a prefix. */
export function resourceNameFaults(name: string): readonly Cause[] {
  const wrong = isQualifiedName(name)
  if (wrong !== undefined) return invalidValues("", name, wrong)
  return name.includes("/") || name === "storage" || isQuotaResource(name)
    ? NO_CAUSES
    : [invalidValue("", name, "must be a standard resource type or fully qualified")]
}

/** Validates the name of a resource of a container. */
export function containerResourceNameFaults(name: string): readonly Cause[] {
  if (OF_CONTAINERS.has(name)) return NO_CAUSES
  const found = resourceNameFaults(name)
  if (!name.includes("/"))
    return isHugePages(name) ? found : [...found, invalidValue("", name, "must be a standard resource for containers")]
  return isNativeResource(name) || isExtendedResource(name)
    ? found
    : [...found, invalidValue("", name, "doesn't follow extended resource name standard")]
}

/** Returns whether a resource without a prefix is known to quotas. */
export const isQuotaResource = (name: string): boolean => OF_QUOTAS.has(name) || isQuotaHugePages(name)

/** Validates the name of a resource in a quota. */
export function quotaResourceNameFaults(name: string): readonly Cause[] {
  const found = resourceNameFaults(name)
  return name.includes("/") || isQuotaResource(name)
    ? found
    : [...found, invalidValue("", name, "must be a standard resource for quota")]
}

/** Validates an amount: it is never negative, and a whole number for resources that are counted. */
export function amountFaults(name: string, amount: string): readonly Cause[] {
  if (WHOLE.test(amount)) return NO_CAUSES
  const { nano } = quantity(amount)
  const causes: Cause[] = []
  if (nano < 0n) causes.push(invalidValue("", amount, "must be greater than or equal to 0"))
  const isWhole = nano % ONE === 0n || inMillis(nano) % 1000n === 0n
  if (!isWhole && (COUNTED.has(name) || isExtendedResource(name)))
    causes.push(invalidValue("", amount, "must be an integer"))
  return causes
}
const WHOLE = /^\d+(?:[KMGTPE]i|[kMGTPE])?$/
const ONE = 1_000_000_000n
const MILLI = 1_000_000n
/** Returns thousandths, rounded away from zero as Go does. */
const inMillis = (nano: bigint): bigint => (nano % MILLI === 0n ? nano / MILLI : nano / MILLI + (nano < 0n ? -1n : 1n))

/** Validates an amount of huge pages, which must be a multiple of the page size. */
export function hugePageFaults(name: string, amount: string): readonly Cause[] {
  if (!isHugePages(name)) return NO_CAUSES
  const page = parseQuantity(name.slice("hugepages-".length))
  const whole =
    page !== undefined &&
    compareQuantities(page, ZERO) > 0 &&
    page.nano % ONE === 0n &&
    wholeUnits(quantity(amount)) % wholeUnits(page) === 0n
  return whole ? NO_CAUSES : [invalidValue("", amount, `${amount} is not positive integer multiple of ${name}`)]
}
const ZERO = quantity("0")
const wholeUnits = ({ nano }: Quantity): bigint => (nano + ONE - 1n) / ONE
