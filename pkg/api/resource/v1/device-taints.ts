import type { DeviceTaint } from "./device.ts"
import type { DeviceToleration } from "./deviceclaim.ts"

/**
 * Returns whether a toleration matches a taint of a device. Source: dynamic-resource-allocation
 * resourceclaim/devicetoleration.go ToleratesTaint.
 */
export const toleratesDeviceTaint = (
  { key = "", operator, value = "", effect }: DeviceToleration,
  taint: DeviceTaint,
): boolean =>
  (effect === undefined || effect === taint.effect) &&
  (key === "" || key === taint.key) &&
  (operator === "Exists" || value === (taint.value ?? ""))
