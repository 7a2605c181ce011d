import { Buffer } from "node:buffer"
import { crc32 } from "node:zlib"

/**
 * The file in which the kubelet records the claims that it has prepared. It has upstream's name and format, so that a
 * node may change from one kubelet to the other. Source: pkg/kubelet/cm/dra/state/checkpoint.go, state.go.
 */
export const CHECKPOINT_FILE = "dra_manager_state"

export interface DeviceState {
  readonly PoolName: string
  readonly DeviceName: string
  readonly ShareID?: string | null | undefined
  readonly RequestNames: readonly string[] | null
  readonly CDIDeviceIDs: readonly string[] | null
}

export interface ClaimState {
  readonly ClaimUID: string
  readonly ClaimName: string
  readonly Namespace: string
  /** A set: each uid is a key with an empty object. */
  readonly PodUIDs: Readonly<Record<string, object>>
  /** By driver. */
  readonly DriverState: Readonly<Record<string, { readonly Devices: readonly DeviceState[] | null }>>
}

/** Returns the content of the file for these claims. */
export function encodeCheckpoint(claims: readonly ClaimState[]): string {
  const Data = JSON.stringify({
    kind: "DRACheckpoint",
    apiVersion: "checkpoint.dra.kubelet.k8s.io/v1",
    ClaimInfoStateList: claims,
  })
  return JSON.stringify({ Data, Checksum: checksum(Data) })
}

export const checksum = (data: string): number => crc32(Buffer.from(data))
