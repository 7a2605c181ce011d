import type { Cause } from "../../../apimachinery/errors.ts"
import { at, atKey, forbiddenField, invalidValue, notFoundField, required } from "../../../apimachinery/field-errors.ts"
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

export function validateResources(resources: ResourceRequirements, podClaims: ReadonlySet<string>, path: string): readonly Cause[] {
  const { limits = {}, requests = {}, claims = [] } = resources
  const causes: Cause[] = []
  for (const [name, amount] of Object.entries(limits)) causes.push(...validateAmount(name, amount, atKey(at(path, "limits"), name)))
  for (const [name, amount] of Object.entries(requests)) {
    causes.push(...validateAmount(name, amount, atKey(at(path, "requests"), name)))
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined
    if (limit === undefined) {
      if (!mayOvercommit(name)) causes.push(required(at(path, "limits"), "Limit must be set for non overcommitable resources"))
      continue
    }
    const compared = compareQuantities(quantity(amount), quantity(limit))
    if (compared !== 0 && !mayOvercommit(name)) causes.push(invalidValue(at(path, "requests"), amount, `must be equal to ${name} limit of ${limit}`))
    else if (compared > 0) causes.push(invalidValue(at(path, "requests"), amount, `must be less than or equal to ${name} limit of ${limit}`))
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)]
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) causes.push(forbiddenField(path, "HugePages require cpu or memory"))
  for (const [i, { name }] of claims.entries()) if (!podClaims.has(name)) causes.push(notFoundField(at(path, "claims", i), name))
  return causes
}

function validateAmount(name: string, amount: string, path: string): readonly Cause[] {
  const wrongName = checked(path, name, isQualifiedName)
  if (wrongName.length > 0) return wrongName
  const causes: Cause[] = []
  if (!name.includes("/")) {
    if (!STANDARD.has(name) && !isHugePages(name)) causes.push(invalidValue(path, name, "must be a standard resource for containers"))
  } else if (!isNative(name) && (name.startsWith("requests.") || isQualifiedName(`requests.${name}`) !== undefined)) causes.push(invalidValue(path, name, "doesn't follow extended resource name standard"))
  const { nano } = quantity(amount)
  if (nano < 0n) causes.push(invalidValue(path, amount, "must be greater than or equal to 0"))
  if (!isNative(name) && nano % 1_000_000_000n !== 0n) causes.push(invalidValue(path, amount, "must be an integer"))
  return causes
}
