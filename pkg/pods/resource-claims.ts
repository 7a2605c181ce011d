import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceClaimConsumerReference } from "../api/resource/v1/allocation.ts"
import type { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { isPodTerminal } from "./pod-state.ts"

/** Which ResourceClaims belong to a pod. Source: dynamic-resource-allocation resourceclaim/resourceclaim.go. */

export type PodResourceClaim = NonNullable<Pod["spec"]["resourceClaims"]>[number]

/** The number of pods that can use a claim. Source: resource/v1 ResourceClaimReservedForMaxSize. */
const MOST_USERS = 256

/** The finalizer of claims that have an allocation. Source: resource/v1 Finalizer. */
export const CLAIM_PROTECTION = "resource.kubernetes.io/delete-protection"

/**
 * Returns the name of a pod's claim: undefined when it has not been created from its template yet, null when none is
 * needed.
 */
export function resourceClaimName({ status }: Pod, claim: PodResourceClaim): string | null | undefined {
  if (claim.resourceClaimName !== undefined) return claim.resourceClaimName
  const made = status.resourceClaimStatuses?.find(({ name }) => name === claim.name)
  return made === undefined ? undefined : (made.resourceClaimName ?? null)
}

/** Returns the names of the claims in the pod's spec that exist already. They are in its namespace. */
export const resourceClaimNames = (pod: Pod): readonly string[] =>
  (pod.spec.resourceClaims ?? []).flatMap((claim) => resourceClaimName(pod, claim) ?? [])

/** Returns the same names, and that of the claim that the scheduler has created for extended resources. */
export const allResourceClaimNames = (pod: Pod): readonly string[] => {
  const { extendedResourceClaimStatus: extended } = pod.status
  return extended === undefined ? resourceClaimNames(pod) : [...resourceClaimNames(pod), extended.resourceClaimName]
}

/** Returns whether the claim was created for the pod. */
export const isClaimOf = (pod: Pod, { metadata }: ResourceClaim): boolean =>
  metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === pod.metadata.uid) === true

/** Returns the owner reference for a claim that is created for the pod. It does not block the deletion of the pod. */
export const podOwner = ({ metadata }: Pod) => ({
  apiVersion: "v1",
  kind: "Pod",
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  controller: true,
})

export const isReservedFor = ({ status }: ResourceClaim, { metadata }: Pod): boolean =>
  status.reservedFor?.some(({ uid }) => uid === metadata.uid) === true

export const canBeReserved = ({ status }: ResourceClaim): boolean => (status.reservedFor?.length ?? 0) < MOST_USERS

export const consumerOf = ({ metadata }: Pod): ResourceClaimConsumerReference => ({
  resource: "pods",
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
})

/** Returns whether none of the pod's containers runs or will run. Source: pkg/controller/resourceclaim isPodDone. */
export const needsNoDevices = (pod: Pod): boolean =>
  isPodTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && (pod.spec.nodeName ?? "") === "")
