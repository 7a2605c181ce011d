import type { AllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import { quantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Amounts } from "./capacity.ts"
import { deviceId } from "./pools.ts"

/** Devices that claims have, by `deviceId`. Source: plugins/dynamicresources/allocateddevices.go. */
export interface AllocatedDevices {
  /** Devices that one claim has for itself. */
  readonly whole: ReadonlySet<string>
  /** What claims have of devices that they share. */
  readonly shared: ReadonlyMap<string, Amounts>
}

export const NOTHING_ALLOCATED: AllocatedDevices = { whole: new Set(), shared: new Map() }

/** Whether a claim has the device or a share of it. */
export const isAllocated = ({ whole, shared }: AllocatedDevices, id: string): boolean => whole.has(id) || shared.has(id)

/** With admin access a device is had beside its user, so it does not count. */
export function allocatedDevices(allocations: Iterable<AllocationResult>): AllocatedDevices {
  const whole = new Set<string>()
  const shared = new Map<string, Map<string, bigint>>()
  for (const { devices } of allocations)
    for (const { driver, pool, device, adminAccess, shareID, consumedCapacity = {} } of devices.results ?? []) {
      if (adminAccess === true) continue
      const id = deviceId(driver, pool, device)
      if (shareID === undefined) {
        whole.add(id)
        continue
      }
      const amounts = shared.get(id) ?? new Map<string, bigint>()
      shared.set(id, amounts)
      for (const [name, amount] of Object.entries(consumedCapacity))
        amounts.set(name, (amounts.get(name) ?? 0n) + quantity(amount).nano)
    }
  return { whole, shared }
}
