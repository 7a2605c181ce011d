import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { parseQuantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  claimReference,
  isReservedFor,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { PRE_RESIZE_CAPACITY } from "../../../pkg/api/core/v1/persistentvolume/resize-status.ts"
import type { Client } from "../../../pkg/client/client.ts"

type Phase = "Pending" | "Bound" | "Lost"

/**
 * Binds the claim to the volume in four writes, each left out where it has been done, so what fails is taken up again:
 * the volume names the claim, the volume is Bound, the claim names the volume, the claim is Bound. Source: bind in
 * pkg/controller/volume/persistentvolume/pv_controller.go.
 */
export async function bind(volume: PersistentVolume, claim: PersistentVolumeClaim, client: Client): Promise<void> {
  const taken = await setVolumePhase(await reserve(volume, claim, client), "Bound", client)
  const bound = await nameVolume(claim, taken, client)
  await setClaimPhase(bound, "Bound", client, taken)
}

/** Source: GetBindVolumeToClaim. */
async function reserve(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  client: Client,
): Promise<PersistentVolume> {
  const isReserved = isReservedFor(volume, claim)
  if (isReserved && (volume.spec.claimRef?.uid ?? "") !== "") return volume
  const { annotations } = volume.metadata
  return client.update(PersistentVolume, {
    ...volume,
    // Who reserved it himself is to find it reserved again when the claim is gone.
    metadata: isReserved
      ? volume.metadata
      : { ...volume.metadata, annotations: { ...annotations, [BOUND_BY_CONTROLLER]: "yes" } },
    spec: { ...volume.spec, claimRef: claimReference(claim) },
  })
}

/** Source: bindClaimToVolume. */
async function nameVolume(
  claim: PersistentVolumeClaim,
  { metadata: { name } }: PersistentVolume,
  client: Client,
): Promise<PersistentVolumeClaim> {
  const { annotations } = claim.metadata
  const isNamed = claim.spec.volumeName === name
  if (isNamed && annotations?.[BIND_COMPLETED] !== undefined) return claim
  const chosen = isNamed ? {} : { [BOUND_BY_CONTROLLER]: "yes" }
  return client.update(PersistentVolumeClaim, {
    ...claim,
    metadata: { ...claim.metadata, annotations: { ...annotations, ...chosen, [BIND_COMPLETED]: "yes" } },
    spec: { ...claim.spec, volumeName: name },
  })
}

/** Writes the phase of a volume where it is another. Source: updateVolumePhase. */
export async function setVolumePhase(
  volume: PersistentVolume,
  phase: NonNullable<PersistentVolume["status"]["phase"]>,
  client: Client,
  message?: string,
): Promise<PersistentVolume> {
  if (volume.status.phase === phase) return volume
  const { message: _, ...status } = volume.status
  return client.updateStatus(PersistentVolume, {
    ...volume,
    status: { ...status, phase, ...(message === undefined ? {} : { message }) },
  })
}

/**
 * Writes the phase of a claim, and what it has of its volume; without one it has nothing. Source: updateClaimStatus.
 */
export async function setClaimPhase(
  claim: PersistentVolumeClaim,
  phase: Phase,
  client: Client,
  volume?: PersistentVolume,
): Promise<PersistentVolumeClaim> {
  const { accessModes: _, capacity, currentVolumeAttributesClassName: current, ...rest } = claim.status
  const isNewlyBound = claim.status.phase === "Pending" && phase === "Bound"
  const attributesClass = isNewlyBound ? volume?.spec.volumeAttributesClassName : current
  const status: PersistentVolumeClaim["status"] =
    volume === undefined
      ? { ...rest, phase }
      : {
          ...rest,
          phase,
          accessModes: volume.spec.accessModes,
          // Once it is bound the capacity is the business of who resizes it.
          capacity: claim.status.phase === phase ? capacity : capacityOf(volume),
          ...(attributesClass === undefined ? {} : { currentVolumeAttributesClassName: attributesClass }),
        }
  if (deepEqual(without(status), without(claim.status))) return claim
  return client.updateStatus(PersistentVolumeClaim, { ...claim, status })
}

function capacityOf({ metadata, spec }: PersistentVolume): PersistentVolumeClaim["status"]["capacity"] {
  const before = metadata.annotations?.[PRE_RESIZE_CAPACITY]
  return before !== undefined && parseQuantity(before) !== undefined ? { storage: before } : spec.capacity
}

/** Leaves out what is undefined. */
const without = (status: object): object =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined))
