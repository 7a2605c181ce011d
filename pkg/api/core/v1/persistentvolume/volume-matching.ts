import { fromLabelSelector } from "../../../../apimachinery/labels.ts"
import { parseQuantity } from "../../../../apimachinery/quantity.ts"
import { matchesTerm } from "../pod/node-selection.ts"
import type { Node } from "../node/node.ts"
import type { PersistentVolume } from "./persistentvolume.ts"
import type { PersistentVolumeClaim } from "./persistentvolumeclaim.ts"

/** Which volumes suit a claim. Source: component-helpers storage/volume, FindMatchingVolume. */

/** Names the node for which a volume is to be made: the scheduler sets this annotation of a claim. */
export const SELECTED_NODE = "volume.kubernetes.io/selected-node"
/** Annotation of a volume and of a claim whose binding a controller chose. */
export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
/** Annotation of a claim whose binding is complete. */
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed"

/** What `spec.claimRef` of a volume says of its claim. */
export const claimReference = ({ apiVersion, kind, metadata }: PersistentVolumeClaim) => ({
  apiVersion,
  kind,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
})

/** Whether the volume is bound to the claim, or reserved for it. */
export const isReservedFor = ({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean =>
  claimRef !== undefined &&
  claimRef.namespace === metadata.namespace &&
  claimRef.name === metadata.name &&
  (claimRef.uid ?? metadata.uid) === metadata.uid

/**
 * Returns the volume that the claim should have: one that is reserved for it, else the smallest that suits it.
 * Undefined when there is none.
 */
export function matchingVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const there = volumes.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  return (
    there.find((volume) => isReservedFor(volume, claim)) ??
    there.filter((volume) => suits(volume, claim)).sort((a, b) => Number(sizeOf(a) - sizeOf(b)))[0]
  )
}

/** Whether pods on the node reach the volume. */
export function isReachedFrom({ spec: { nodeAffinity } }: PersistentVolume, node: Node): boolean {
  const terms = nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => matchesTerm(term, node))
}

/** Bytes that the claim asks for, in billionths. */
export const requestedSize = ({ spec }: PersistentVolumeClaim): bigint =>
  parseQuantity(spec.resources.requests?.["storage"] ?? "0")?.nano ?? 0n

function suits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef, storageClassName = "", volumeMode, accessModes = [] } = volume.spec
  const { spec } = claim
  return (
    claimRef === undefined &&
    storageClassName === (spec.storageClassName ?? "") &&
    volumeMode === spec.volumeMode &&
    (spec.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
    (spec.selector === undefined || fromLabelSelector(spec.selector).matches(volume.metadata.labels)) &&
    sizeOf(volume) >= requestedSize(claim)
  )
}

const sizeOf = ({ spec }: PersistentVolume): bigint => parseQuantity(spec.capacity?.["storage"] ?? "0")?.nano ?? 0n
