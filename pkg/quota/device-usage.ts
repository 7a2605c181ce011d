import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { DeviceRequest } from "../api/resource/v1/deviceclaim.ts"
import { CLASS_PREFIX, mayBeClaimed } from "../api/resource/v1/extended-resources.ts"
import type { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { fromUnits, type Quantity } from "../apimachinery/scalars/quantity.ts"
import { podOf } from "./first-claims.ts"
import { podUsage } from "./pod-usage.ts"
import type { QuotaObjects, Usage } from "./quota-objects.ts"

/** How much of a quota claims for devices use. Source: pkg/quota/v1/evaluator/core/resource_claims.go. */

/**
 * The name of the quota for devices of a class: `<class>.deviceclass.resource.k8s.io/devices`. Source: core/v1
 * ResourceClaimsPerClass.
 */
export const DEVICES_OF_CLASS = ".deviceclass.resource.k8s.io/devices"

/** The number that is counted for a request of all matching devices. Source: resource/v1 AllocationResultsMaxSize. */
const MOST_DEVICES = 32

/** Returns whether pods and claims are counted together under this name of a quota. */
export const isOfPodsAndClaims = (entry: string): boolean =>
  entry.startsWith("requests.") && mayBeClaimed(entry.slice("requests.".length))

/**
 * Counts devices by their classes, and by the extended resource that a class names. For the claim that the scheduler
 * creates for a pod's extended resources, only what the pod was not charged for already is counted.
 */
export function devicesUsage(claim: ResourceClaim, objects: QuotaObjects): Usage {
  const used: Record<string, Quantity> = {}
  const charged = usageOfOwner(claim, objects)
  for (const [name, count] of devicesByClass(claim.spec.devices.requests ?? [])) {
    used[name + DEVICES_OF_CLASS] = fromUnits(count)
    const { extendedResourceName } = objects.deviceClass(name)?.spec ?? {}
    if (extendedResourceName === undefined) continue
    for (const resource of [CLASS_PREFIX + name, extendedResourceName]) {
      const entry = `requests.${resource}`
      const nano = fromUnits(count).nano - (charged[entry]?.nano ?? 0n)
      if (nano > 0n) used[entry] = { nano, format: "DecimalSI" }
    }
  }
  return used
}

/** Of the alternatives of a request the one with the most devices of a class is counted. */
function devicesByClass(requests: readonly DeviceRequest[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  for (const { exactly, firstAvailable = [] } of requests) {
    const most = new Map<string, number>()
    for (const { deviceClassName, allocationMode, count = 0 } of exactly === undefined ? firstAvailable : [exactly]) {
      const devices = allocationMode === "All" ? MOST_DEVICES : count
      most.set(deviceClassName, Math.max(most.get(deviceClassName) ?? 0, devices))
    }
    for (const [name, devices] of most) all.set(name, (all.get(name) ?? 0) + devices)
  }
  return all
}

/**
 * Returns the usage of the pod that the claim was created for; nothing if that pod does not exist or uses another
 * claim.
 */
function usageOfOwner(claim: ResourceClaim, objects: QuotaObjects): Usage {
  const { namespace = "", name = "" } = claim.metadata
  const owner = podOf(claim)
  if (owner === undefined) return {}
  const pod: Pod | undefined = objects.pod(namespace, owner.name)
  if (pod === undefined || pod.metadata.uid !== owner.uid) return {}
  const used = pod.status.extendedResourceClaimStatus?.resourceClaimName
  // A claim that is being created is not in the store yet.
  const isIts = (used ?? objects.firstClaimOf(namespace, owner.uid) ?? name) === name
  return isIts ? podUsage(pod, objects.now()) : {}
}
