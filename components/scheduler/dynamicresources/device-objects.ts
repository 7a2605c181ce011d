import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import {
  EXTENDED_RESOURCE_CLAIM,
  preferredClass,
  resourcesOfClass,
} from "../../../pkg/api/resource/v1/extended-resources.ts"
import type { Index, Informers } from "../../../pkg/client/informer.ts"
import { allocatedDevices, type AllocatedDevices } from "./allocated-devices.ts"

/** Where the plugin finds claims and devices, and notes what it has decided. */
export interface DeviceObjects {
  claim(namespace: string, name: string): ResourceClaim | undefined
  slices(): readonly ResourceSlice[]
  deviceClass(name: string): DeviceClass | undefined
  /** Returns the class that stands for an extended resource. */
  classOf(resource: string): DeviceClass | undefined
  /** Returns the claim that was made for the pod's extended resources. */
  extendedClaimOf(pod: Pod): ResourceClaim | undefined
  /** Devices that claims have, or are about to get. */
  allocated(): AllocatedDevices
  /** Whether an allocation of the claim is being written. */
  isPending(claim: ResourceClaim): boolean
  /** Notes that claims get allocations that will be written, some of them with their claims. */
  assume(claims: readonly ResourceClaim[]): void
  /** Notes that the allocation of a claim was written, with `outcome`, or will not be. */
  settled(claim: ResourceClaim, outcome: ResourceClaim | undefined): void
}

const classesByResource: Index<DeviceClass> = { name: "resource", of: resourcesOfClass }

const extendedClaimsByPod: Index<ResourceClaim> = {
  name: "extended-resources",
  of: ({ metadata }) => {
    if (metadata.annotations?.[EXTENDED_RESOURCE_CLAIM] !== "true") return []
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
    return owner?.kind === "Pod" ? [owner.uid] : []
  },
}

/**
 * Claims as the scheduler sees them: what it has decided counts before it is written, and before the informer shows it.
 * Source: plugins/dynamicresources/dra_manager.go claimTracker.
 */
export class DeviceClaims implements DeviceObjects {
  readonly #informers: Informers
  /** Claims with allocations that are being written, by uid. */
  readonly #pending = new Map<string, ResourceClaim>()
  /** Claims that will be made with their allocations, by the uid that stands for them. */
  readonly #unwritten = new Map<string, ResourceClaim>()
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

  classOf(resource: string): DeviceClass | undefined {
    return preferredClass(this.#informers.of(DeviceClass).by(classesByResource, resource))
  }

  extendedClaimOf({ metadata }: Pod): ResourceClaim | undefined {
    return this.#newest(this.#informers.of(ResourceClaim).by(extendedClaimsByPod, metadata.uid ?? "")[0])
  }

  allocated(): AllocatedDevices {
    const claims = this.#informers.of(ResourceClaim).list()
    const statuses = claims.map((shown) => {
      const { metadata, status } = this.#newest(shown)!
      return this.#pending.get(metadata.uid ?? "")?.status ?? status
    })
    for (const { status } of this.#unwritten.values()) statuses.push(status)
    return allocatedDevices(statuses.flatMap(({ allocation }) => allocation ?? []))
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid ?? "")
  }

  assume(claims: readonly ResourceClaim[]): void {
    for (const claim of claims)
      (claim.metadata.resourceVersion === undefined ? this.#unwritten : this.#pending).set(
        claim.metadata.uid ?? "",
        claim,
      )
  }

  settled({ metadata }: ResourceClaim, outcome: ResourceClaim | undefined): void {
    const uid = metadata.uid ?? ""
    // The informer shows a claim that was made with its allocation: reserve-devices.ts waits for that.
    if (this.#unwritten.delete(uid)) return
    this.#pending.delete(uid)
    if (outcome !== undefined) this.#written.set(uid, outcome)
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
