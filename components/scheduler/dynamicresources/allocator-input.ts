import type { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import type { AllocatedDevices } from "./allocated-devices.ts"
import type { DeviceSelectors } from "../../../pkg/api/resource/v1/device-selectors.ts"

export interface AllocatorInput {
  /** Claims without an allocation. */
  readonly claims: readonly ResourceClaim[]
  readonly slices: readonly ResourceSlice[]
  /** Devices that claims have already. */
  readonly allocated: AllocatedDevices
  deviceClass(name: string): DeviceClass | undefined
  readonly selectors: DeviceSelectors
  /** Returns a new uid, which tells a share of a device from others. */
  shareId(): string
}
