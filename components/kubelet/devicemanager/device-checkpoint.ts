import { Buffer } from "node:buffer"
import { crc32 } from "node:zlib"
import { ContainerAllocation } from "./device-plugin-service.ts"
import type { Allocation } from "./allocation.ts"

/** The file in the kubelet's folder that records which containers have which devices. */
export const CHECKPOINT_FILE = "device_manager_state"

export interface DeviceRecords {
  readonly allocations: readonly Allocation[]
  /** The resources that have or had plugins. */
  readonly resources: readonly string[]
}

/** Returns the content of the file. */
export function encodeCheckpoint({ allocations, resources }: DeviceRecords): string {
  const data = JSON.stringify({
    allocations: allocations.map(({ allocation, ...rest }) => ({
      ...rest,
      allocation: Buffer.from(ContainerAllocation.encode(allocation)).toString("base64"),
    })),
    resources,
  })
  return JSON.stringify({ data, checksum: checksum(data) })
}

export const checksum = (data: string): number => crc32(Buffer.from(data))
