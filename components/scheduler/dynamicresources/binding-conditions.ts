import type { DeviceRequestAllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"

/**
 * Devices that must be made ready for a node before a pod is bound there: their drivers tell by conditions in the
 * status of the claim. KEP-5007. Source: plugins/dynamicresources isClaimReadyForBinding, isClaimTimeout.
 */

const resultsOf = ({ status }: ResourceClaim): readonly DeviceRequestAllocationResult[] =>
  (status.allocation?.devices.results ?? []).filter(({ bindingConditions = [] }) => bindingConditions.length > 0)

/** Whether the claim has devices that must be made ready. */
export const hasBindingConditions = (claim: ResourceClaim): boolean => resultsOf(claim).length > 0

/** Whether all devices of the claim are ready. @throws Error when a driver says that one cannot be made ready */
export function isReadyForBinding(claim: ResourceClaim): boolean {
  for (const { driver, pool, device, bindingConditions = [], bindingFailureConditions = [] } of resultsOf(claim)) {
    const deviceStatus = claim.status.devices?.find(
      (one) => one.driver === driver && one.pool === pool && one.device === device,
    )
    const held = (deviceStatus?.conditions ?? []).filter(({ status }) => status === "True")
    const failure = held.find(({ type }) => bindingFailureConditions.includes(type))
    if (failure !== undefined)
      throw new Error(
        `device binding failed: claim=${claim.metadata.name}, reason=${failure.reason}, ` +
          `message=${JSON.stringify(failure.message)}`,
      )
    if (!bindingConditions.every((type) => held.some((condition) => condition.type === type))) return false
  }
  return true
}

/**
 * Whether the devices of the claim cannot be used: a driver failed, or did not make them ready within `timeoutMs`,
 * bindingTimeout of DynamicResourcesArgs.
 */
export function hasFailedToBind(claim: ResourceClaim, now: number, timeoutMs: number): boolean {
  if (!hasBindingConditions(claim)) return false
  try {
    if (isReadyForBinding(claim)) return false
  } catch {
    return true
  }
  const since = claim.status.allocation?.allocationTimestamp
  return since !== undefined && Date.parse(since) + timeoutMs < now
}
