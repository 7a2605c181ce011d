import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { CLAIM_PROTECTION } from "../../../pkg/pods/resource-claims.ts"
import type { BindingContext } from "../binding-context.ts"
import type { DeviceObjects } from "./device-objects.ts"
import type { ExtendedRequests } from "./extended-resources.ts"
import { holds } from "../holds.ts"

/**
 * The claim that is made for a pod's extended resources while the pod is bound. Source:
 * plugins/dynamicresources/extendeddynamicresources.go.
 */

/** How long the informer may take to show a new claim. Source: AssumeExtendedResourceTimeoutDefaultSeconds. */
const SHOWN_WITHIN_MS = 120_000

/** Makes the claim: `claim` has a name and a uid only until then. @throws ApiError */
export function createExtendedClaim(claim: ResourceClaim, client: Client): Promise<ResourceClaim> {
  const { name: _name, uid: _uid, ...metadata } = claim.metadata
  return client.create(ResourceClaim, { metadata, spec: claim.spec })
}

/** Tells the pod's status which containers get the devices of which requests: the kubelet reads it. @throws ApiError */
export async function tellPod(
  pod: Pod,
  claim: ResourceClaim,
  requestMappings: ExtendedRequests["mappings"],
  client: Client,
): Promise<void> {
  const { namespace, name, uid } = pod.metadata
  const extendedResourceClaimStatus = { requestMappings, resourceClaimName: claim.metadata.name }
  const body = { metadata: { uid }, status: { extendedResourceClaimStatus } }
  await client.patch(Pod, { namespace, name }, { type: "merge", body }, { subresource: "status" })
}

/** Waits until the informer shows the claim with its devices: later pods look for devices there. @throws Error */
export const isShown = (
  pod: Pod,
  claim: ResourceClaim,
  claims: DeviceObjects,
  { waits, clock, signal }: BindingContext,
): Promise<void> =>
  holds({
    check: () =>
      claims.claim(claim.metadata.namespace ?? "", claim.metadata.name ?? "")?.status.allocation !== undefined,
    listen: (look) => waits.on(pod, [claim], look),
    clock,
    timeoutMs: SHOWN_WITHIN_MS,
    late: `claim ${claim.metadata.name} for extended resources is not shown by the informer`,
    signal,
  })

/** Deletes the claim, with its devices. @throws ApiError */
export async function deleteExtendedClaim({ metadata }: ResourceClaim, client: Client): Promise<void> {
  const { namespace, name, uid = "" } = metadata
  const body = { metadata: { uid, "$deleteFromPrimitiveList/finalizers": [CLAIM_PROTECTION] } }
  try {
    await client.patch(ResourceClaim, { namespace, name }, { type: "strategic", body })
    await client.delete(ResourceClaim, { namespace, name }, { preconditions: { uid } })
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}
