import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { DeviceClass } from "../api/resource/v1/deviceclass.ts"
import type { Quantity } from "../apimachinery/scalars/quantity.ts"

/** Quantities by the names that a quota's `hard` may have. */
export type Usage = Readonly<Record<string, Quantity>>

/** What the usage of an object depends on besides the object. */
export interface QuotaObjects {
  /** Milliseconds since 1970. */
  now(): number
  deviceClass(name: string): DeviceClass | undefined
  pod(namespace: string, name: string): Pod | undefined
  /** Returns the name of the first stored claim that was created for the extended resources of a pod. */
  firstClaimOf(namespace: string, podUid: string): string | undefined
}
