import type { DeviceObjects } from "./device-objects.ts"

/** A cluster without claims for devices. */
export const NO_DEVICES: DeviceObjects = {
  claim: () => undefined,
  slices: () => [],
  deviceClass: () => undefined,
  allocated: () => new Set(),
  isPending: () => false,
}
