import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  forbiddenField,
  invalidValue,
  notFoundField,
  required,
  within,
} from "../../../apimachinery/field-errors.ts"
import { isQualifiedName } from "../../../apimachinery/names.ts"
import { compareQuantities, quantity } from "../../../apimachinery/quantity.ts"
import type { ResourceRequirements } from "./resources.ts"
import { checked } from "./path-validation.ts"

/** Rules of requests and limits. Source: validateResourceRequirements in pkg/apis/core/validation/validation.go. */

const STANDARD: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"])
const isHugePages = (name: string) => name.startsWith("hugepages-")
/** Kubernetes' own resources: without a prefix, or with one of kubernetes.io. */
const isNative = (name: string) => !name.includes("/") || name.includes("kubernetes.io/")
/** Devices and huge pages are counted out one by one: what is requested is what is used. */
const mayOvercommit = (name: string) => isNative(name) && !isHugePages(name)

export function validateResources(
  { limits, requests, claims }: ResourceRequirements,
  podClaims: ReadonlySet<string>,
): readonly Cause[] {
  const causes: Cause[] = []
  for (const name in limits) within(causes, validateAmount(name, limits[name]!), atKey("limits", name))
  for (const name in requests) {
    const amount = requests[name]!
    within(causes, validateAmount(name, amount), atKey("requests", name))
    const limit = limits !== undefined && Object.hasOwn(limits, name) ? limits[name] : undefined
    if (limit === undefined) {
      if (!mayOvercommit(name)) causes.push(required("limits", "Limit must be set for non overcommitable resources"))
      continue
    }
    const compared = compareQuantities(quantity(amount), quantity(limit))
    if (compared !== 0 && !mayOvercommit(name))
      causes.push(invalidValue("requests", amount, `must be equal to ${name} limit of ${limit}`))
    else if (compared > 0)
      causes.push(invalidValue("requests", amount, `must be less than or equal to ${name} limit of ${limit}`))
  }
  if (some(isHugePages, limits, requests) && !some(isCpuOrMemory, limits, requests))
    causes.push(forbiddenField("", "HugePages require cpu or memory"))
  if (claims !== undefined)
    for (const [i, { name }] of claims.entries())
      if (!podClaims.has(name)) causes.push(notFoundField(at("claims", i), name))
  return causes
}

const isCpuOrMemory = (name: string): boolean => name === "cpu" || name === "memory"

function some(is: (name: string) => boolean, limits: object = {}, requests: object = {}): boolean {
  for (const name in limits) if (is(name)) return true
  for (const name in requests) if (is(name)) return true
  return false
}

function validateAmount(name: string, amount: string): readonly Cause[] {
  const wrongName = checked("", name, isQualifiedName)
  if (wrongName.length > 0) return wrongName
  const causes: Cause[] = []
  if (!name.includes("/")) {
    if (!STANDARD.has(name) && !isHugePages(name))
      causes.push(invalidValue("", name, "must be a standard resource for containers"))
  } else if (!isNative(name) && (name.startsWith("requests.") || isQualifiedName(`requests.${name}`) !== undefined))
    causes.push(invalidValue("", name, "doesn't follow extended resource name standard"))
  const { nano } = quantity(amount)
  if (nano < 0n) causes.push(invalidValue("", amount, "must be greater than or equal to 0"))
  if (!isNative(name) && nano % 1_000_000_000n !== 0n) causes.push(invalidValue("", amount, "must be an integer"))
  return causes
}
