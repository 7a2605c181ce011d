import { fromLabelSelector } from "../../../../apimachinery/selectors/labels.ts"
import { parseQuantity } from "../../../../apimachinery/scalars/quantity.ts"
import { matchesTerm } from "../pod/scheduling/node-selection.ts"
import type { Node } from "../node/node.ts"
import type { PersistentVolume } from "./persistentvolume.ts"
import type { PersistentVolumeClaim } from "./persistentvolumeclaim.ts"

/** Chooses a volume for a claim. Source: component-helpers storage/volume/pv_helpers.go. */

/** Annotation of a claim, set by the scheduler: the node where the volume is needed. */
export const SELECTED_NODE = "volume.kubernetes.io/selected-node"
/** Annotation of a volume or a claim that was bound by a controller and not by a user. */
export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
/** Annotation of a claim whose binding is complete. */
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
/** Annotation of a volume: the provisioner that created it. */
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
/** Annotations of a claim: the provisioner that must create its volume. Older provisioners read the second. */
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
export const BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
/**
 * Annotation with the class of a claim or a volume, which objects from before Kubernetes 1.6 have instead of the field.
 */
export const BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"

/** The fields of `spec.claimRef` of a volume. */
export const claimReference = ({ apiVersion, kind, metadata }: PersistentVolumeClaim) => ({
  apiVersion,
  kind,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
})

/** Returns the class of a claim or a volume; "" without one. */
export const storageClassOf = ({ metadata, spec }: PersistentVolumeClaim | PersistentVolume): string =>
  metadata.annotations?.[BETA_STORAGE_CLASS] ?? spec.storageClassName ?? ""

/** Whether the volume is bound to the claim, or reserved for it. */
export const isReservedFor = ({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean =>
  claimRef !== undefined &&
  claimRef.namespace === metadata.namespace &&
  claimRef.name === metadata.name &&
  (claimRef.uid || metadata.uid) === metadata.uid

/**
 * Returns the volume that the claim should have: one that is reserved for it, else one that suits it with the fewest
 * access modes, and of those the smallest. Undefined when there is none. With `reservedOnly` only the first counts.
 */
export function matchingVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  { reservedOnly = false }: { readonly reservedOnly?: boolean } = {},
): PersistentVolume | undefined {
  let best: PersistentVolume | undefined
  for (const volume of volumes) {
    if (!couldHold(volume, claim)) continue
    if (isReservedFor(volume, claim)) return volume
    if (!reservedOnly && suits(volume, claim) && (best === undefined || isCloser(volume, best))) best = volume
  }
  return best
}

/** Returns whether pods on the node can reach the volume. */
export function isReachedFrom({ spec: { nodeAffinity } }: PersistentVolume, node: Node): boolean {
  const terms = nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => matchesTerm(term, node))
}

/** Returns the size that the claim requests, in billionths of a byte. */
export const requestedSize = ({ spec }: PersistentVolumeClaim): bigint =>
  parseQuantity(spec.resources.requests?.["storage"] ?? "0")?.nano ?? 0n

/**
 * Returns why the volume that a claim names cannot be bound to it; undefined when it can. Source:
 * checkVolumeSatisfyClaim.
 */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`
  if (sizeOf(volume) < requestedSize(claim)) return "requested PV is too small"
  if (storageClassOf(volume) !== storageClassOf(claim)) return "storageClassName does not match"
  if (attributesClassOf(volume) !== attributesClassOf(claim)) return "volumeAttributesClassName does not match"
  if (!hasModeOf(volume, claim)) return "incompatible volumeMode"
  if (!allowsModesOf(volume, claim)) return "incompatible accessMode"
  return undefined
}

/** Whether both are filesystems, or both block devices. */
export const hasModeOf = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (volume.spec.volumeMode ?? "Filesystem") === (claim.spec.volumeMode ?? "Filesystem")

/** Whether a volume meets the conditions that also a reserved volume must meet. */
const couldHold = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (volume.spec.claimRef === undefined || isReservedFor(volume, claim)) &&
  volume.metadata.deletionTimestamp === undefined &&
  hasModeOf(volume, claim) &&
  attributesClassOf(volume) === attributesClassOf(claim) &&
  allowsModesOf(volume, claim) &&
  sizeOf(volume) >= requestedSize(claim)

const suits = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  volume.status.phase === "Available" &&
  storageClassOf(volume) === storageClassOf(claim) &&
  (claim.spec.selector === undefined || fromLabelSelector(claim.spec.selector).matches(volume.metadata.labels))

const allowsModesOf = (volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean =>
  (spec.accessModes ?? []).every((mode) => (volume.spec.accessModes ?? []).includes(mode))

function isCloser(volume: PersistentVolume, best: PersistentVolume): boolean {
  const [modes, fewest] = [volume.spec.accessModes?.length ?? 0, best.spec.accessModes?.length ?? 0]
  return modes === fewest ? sizeOf(volume) < sizeOf(best) : modes < fewest
}

const attributesClassOf = ({ spec }: PersistentVolume | PersistentVolumeClaim): string =>
  spec.volumeAttributesClassName ?? ""

const sizeOf = ({ spec }: PersistentVolume): bigint => parseQuantity(spec.capacity?.["storage"] ?? "0")?.nano ?? 0n
