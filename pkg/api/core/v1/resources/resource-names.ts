import type { Cause } from "../../../../apimachinery/errors.ts"
import { invalidValue, NO_CAUSES } from "../../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../../apimachinery/validation/names.ts"
import { compareQuantities, parseQuantity, quantity, type Quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { checked } from "../path-validation.ts"

/**
 * Names of resources and what amounts they have. Source: pkg/apis/core/helper/helpers.go, validateResourceName in
 * pkg/apis/core/validation/validation.go.
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

/** Kubernetes' own resources: without a prefix, or with one of kubernetes.io. */
export const isNativeResource = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/")

/** Devices and the like: named by who makes them, and short enough for quotas to count them. */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) && !name.startsWith("requests.") && isQualifiedName(`requests.${name}`) === undefined

/** Whether a container may be given more than it asked for. Devices and huge pages are counted out one by one. */
export const mayOvercommit = (name: string): boolean => isNativeResource(name) && !isHugePages(name)

/** Any resource that Kubernetes knows, or that has a prefix. */
export function resourceNameFaults(name: string): readonly Cause[] {
  const wrong = checked("", name, isQualifiedName)
  if (wrong.length > 0) return wrong
  return name.includes("/") || name === "storage" || isQuotaResource(name)
    ? NO_CAUSES
    : [invalidValue("", name, "must be a standard resource type or fully qualified")]
}

/** A resource that containers use. */
export function containerResourceNameFaults(name: string): readonly Cause[] {
  if (OF_CONTAINERS.has(name)) return NO_CAUSES
  const found = resourceNameFaults(name)
  if (!name.includes("/"))
    return isHugePages(name) ? found : [...found, invalidValue("", name, "must be a standard resource for containers")]
  return isNativeResource(name) || isExtendedResource(name)
    ? found
    : [...found, invalidValue("", name, "doesn't follow extended resource name standard")]
}

/** Whether quotas know a resource by themselves. */
export const isQuotaResource = (name: string): boolean => OF_QUOTAS.has(name) || isQuotaHugePages(name)

/** A resource that quotas count. */
export function quotaResourceNameFaults(name: string): readonly Cause[] {
  const found = resourceNameFaults(name)
  return name.includes("/") || isQuotaResource(name)
    ? found
    : [...found, invalidValue("", name, "must be a standard resource for quota")]
}

/** An amount is never negative, and a whole number of what is counted one by one. */
export function amountFaults(name: string, amount: string): readonly Cause[] {
  const { nano } = quantity(amount)
  const causes: Cause[] = []
  if (nano < 0n) causes.push(invalidValue("", amount, "must be greater than or equal to 0"))
  const isWhole = nano % ONE === 0n || inMillis(nano) % 1000n === 0n
  if (!isWhole && (COUNTED.has(name) || isExtendedResource(name)))
    causes.push(invalidValue("", amount, "must be an integer"))
  return causes
}
const ONE = 1_000_000_000n
const MILLI = 1_000_000n
/** Thousandths, rounded away from zero as Go does. */
const inMillis = (nano: bigint): bigint => (nano % MILLI === 0n ? nano / MILLI : nano / MILLI + (nano < 0n ? -1n : 1n))

/** Huge pages come in whole pages. */
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
