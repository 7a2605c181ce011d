import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceClaimConsumerReference } from "../api/resource/v1/allocation.ts"
import type { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { isPodTerminal } from "./pod-state.ts"

/** How pods and claims for devices belong together. Source: dynamic-resource-allocation resourceclaim/resourceclaim.go. */

export type PodResourceClaim = NonNullable<Pod["spec"]["resourceClaims"]>[number]

/** Users that a claim can have. Source: resource/v1 ResourceClaimReservedForMaxSize. */
const MOST_USERS = 256

/** Keeps a claim with an allocation from being removed. Source: resource/v1 Finalizer. */
export const CLAIM_PROTECTION = "resource.kubernetes.io/delete-protection"

/**
 * The name of a pod's claim: undefined where it is still to be made from its template, null where none is needed.
 */
export function resourceClaimName({ status }: Pod, claim: PodResourceClaim): string | null | undefined {
  if (claim.resourceClaimName !== undefined) return claim.resourceClaimName
  const made = status.resourceClaimStatuses?.find(({ name }) => name === claim.name)
  return made === undefined ? undefined : (made.resourceClaimName ?? null)
}

/** Names of the claims that a pod names, as far as they are known. They are in its namespace. */
export const resourceClaimNames = (pod: Pod): readonly string[] =>
  (pod.spec.resourceClaims ?? []).flatMap((claim) => resourceClaimName(pod, claim) ?? [])

/** As `resourceClaimNames`, with the claim that the scheduler has made for extended resources. */
export const allResourceClaimNames = (pod: Pod): readonly string[] => {
  const { extendedResourceClaimStatus: extended } = pod.status
  return extended === undefined ? resourceClaimNames(pod) : [...resourceClaimNames(pod), extended.resourceClaimName]
}

/** Whether the claim was made for the pod. */
export const isClaimOf = (pod: Pod, { metadata }: ResourceClaim): boolean =>
  metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === pod.metadata.uid) === true

/** The owner of a claim that is made for the pod, which may be deleted before the claim. */
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

/** Whether none of the pod's containers runs or will run. Source: pkg/controller/resourceclaim isPodDone. */
export const needsNoDevices = (pod: Pod): boolean =>
  isPodTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && (pod.spec.nodeName ?? "") === "")
