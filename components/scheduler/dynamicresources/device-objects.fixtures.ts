import { NOTHING_ALLOCATED } from "./allocated-devices.ts"
import type { DeviceObjects } from "./device-objects.ts"

/** A cluster without claims for devices. */
export const NO_DEVICES: DeviceObjects = {
  claim: () => undefined,
  slices: () => [],
  deviceClass: () => undefined,
  classOf: () => undefined,
  extendedClaimOf: () => undefined,
  allocated: () => NOTHING_ALLOCATED,
  isPending: () => false,
  assume: () => undefined,
  settled: () => undefined,
}
