import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  duplicate,
  forbiddenField,
  invalidValue,
  notFoundField,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label } from "../../../../apimachinery/validation/names.ts"
import { compareQuantities, quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { checked } from "../path-validation.ts"
import {
  amountFaults,
  containerResourceNameFaults,
  hugePageFaults,
  isHugePages,
  mayOvercommit,
} from "./resource-names.ts"
import type { ResourceClaim, ResourceRequirements } from "./resources.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates requests and limits; by default those of a container, with other `nameFaults` those of another object.
 * Source: validateResourceRequirements in pkg/apis/core/validation/validation.go.
 */
export function validateResources(
  { limits, requests, claims }: ResourceRequirements,
  podClaims: ReadonlySet<string>,
  nameFaults: (name: string) => readonly Cause[] = containerResourceNameFaults,
): readonly Cause[] {
  const causes: Cause[] = []
  const validateAmount = (name: string, amount: string, list: "limits" | "requests"): void => {
    for (const found of [nameFaults(name), amountFaults(name, amount), hugePageFaults(name, amount)])
      if (found.length > 0) within(causes, found, atKey(list, name))
  }
  for (const name in limits) validateAmount(name, limits[name]!, "limits")
  for (const name in requests) {
    const amount = requests[name]!
    validateAmount(name, amount, "requests")
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
  if (claims !== undefined) within(causes, validateClaims(claims, podClaims), "claims")
  return causes
}

const isCpuOrMemory = (name: string): boolean => name === "cpu" || name === "memory"

function some(is: (name: string) => boolean, limits: object = {}, requests: object = {}): boolean {
  for (const name in limits) if (is(name)) return true
  for (const name in requests) if (is(name)) return true
  return false
}

/**
 * Validates which claims of the pod a container uses: each claim either as a whole or by its requests, and nothing
 * twice. Source: validateResourceClaimNames.
 */
function validateClaims(claims: readonly ResourceClaim[], podClaims: ReadonlySet<string>): readonly Cause[] {
  const used = new Set<string>()
  /** For each claim, the number of references to single requests of it. */
  const byRequest = new Map<string, number>()
  return claims.flatMap(({ name, request = "" }, i) => {
    const here = at("", i)
    if (name === "") return [required(here)]
    const causes: Cause[] = []
    const key = request === "" ? name : `${name}/${request}`
    if (used.has(name)) causes.push(duplicate(here, name))
    else {
      if (request !== "") pushAll(causes, checked(at(here, "request"), request, isDNS1123Label))
      if (used.has(key)) causes.push(duplicate(here, key))
      else if (request === "") for (let i = byRequest.get(name) ?? 0; i > 0; i--) causes.push(duplicate(here, name))
      else byRequest.set(name, (byRequest.get(name) ?? 0) + 1)
      used.add(key)
    }
    if (!podClaims.has(name)) causes.push(notFoundField(here, name, claimsThereAre(podClaims)))
    return causes
  })
}

const claimTexts = new WeakMap<ReadonlySet<string>, string>()

/** Returns the pod's claims for the message; made once for a pod, because each of its containers may need it. */
function claimsThereAre(podClaims: ReadonlySet<string>): string {
  if (podClaims.size === 0) return "must be one of the names in pod.spec.resourceClaims which is empty"
  let text = claimTexts.get(podClaims)
  if (text === undefined) {
    text = `must be one of the names in pod.spec.resourceClaims: ${[...podClaims].sort().join(", ")}`
    claimTexts.set(podClaims, text)
  }
  return text
}

/** Validates the overhead of a runtime, in a pod or in a RuntimeClass: amounts of the resources of containers. */
export const validateOverhead = (overhead: Readonly<Record<string, string>>): readonly Cause[] =>
  validateResources({ limits: overhead }, NO_NAMES)
const NO_NAMES: ReadonlySet<string> = new Set()
