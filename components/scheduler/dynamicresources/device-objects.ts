import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import { allocatedDevices, type AllocatedDevices } from "./allocated-devices.ts"

/** Where the plugin finds claims and devices. */
export interface DeviceObjects {
  claim(namespace: string, name: string): ResourceClaim | undefined
  slices(): readonly ResourceSlice[]
  deviceClass(name: string): DeviceClass | undefined
  /** Devices that claims have, or are about to get. */
  allocated(): AllocatedDevices
  /** Whether an allocation of the claim is being written. */
  isPending(claim: ResourceClaim): boolean
}

/**
 * Claims as the scheduler sees them: what it has decided counts before it is written, and before the informer shows it.
 * Source: plugins/dynamicresources/dra_manager.go claimTracker.
 */
export class DeviceClaims implements DeviceObjects {
  readonly #informers: Informers
  /** Claims with allocations that are being written, by uid. */
  readonly #pending = new Map<string, ResourceClaim>()
  /** Claims as they were written, until the informer shows them so. */
  readonly #written = new Map<string, ResourceClaim>()

  constructor(informers: Informers) {
    this.#informers = informers
  }

  claim(namespace: string, name: string): ResourceClaim | undefined {
    return this.#newest(this.#informers.of(ResourceClaim).get(`${namespace}/${name}`))
  }

  slices(): readonly ResourceSlice[] {
    return this.#informers.of(ResourceSlice).list()
  }

  deviceClass(name: string): DeviceClass | undefined {
    return this.#informers.of(DeviceClass).get(name)
  }

  allocated(): AllocatedDevices {
    const claims = this.#informers.of(ResourceClaim).list()
    return allocatedDevices(
      claims.flatMap((shown) => {
        const { metadata, status } = this.#newest(shown)!
        return (this.#pending.get(metadata.uid ?? "")?.status ?? status).allocation ?? []
      }),
    )
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid ?? "")
  }

  /** The claims get allocations that will be written. */
  assume(claims: readonly ResourceClaim[]): void {
    for (const claim of claims) this.#pending.set(claim.metadata.uid ?? "", claim)
  }

  /** The allocation of a claim was written, with `claim` as the outcome, or will not be. */
  settled({ metadata }: ResourceClaim, claim: ResourceClaim | undefined): void {
    const uid = metadata.uid ?? ""
    this.#pending.delete(uid)
    if (claim !== undefined) this.#written.set(uid, claim)
  }

  #newest(shown: ResourceClaim | undefined): ResourceClaim | undefined {
    const written = this.#written.get(shown?.metadata.uid ?? "")
    if (shown === undefined || written === undefined) return shown
    if (Number(shown.metadata.resourceVersion) < Number(written.metadata.resourceVersion)) return written
    this.#written.delete(shown.metadata.uid ?? "")
    return shown
  }
}

/** Whether the pod asks for claims at all. */
export const hasClaims = ({ spec }: Pod): boolean => (spec.resourceClaims ?? []).length > 0
