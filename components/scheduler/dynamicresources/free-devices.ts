import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { resourceClaimNames } from "../../../pkg/pods/resource-claims.ts"
import { hasFailedToBind } from "./binding-conditions.ts"
import type { DeviceObjects } from "./device-objects.ts"
import { deleteExtendedClaim } from "./extended-claim.ts"
import { matchesNode } from "./pools.ts"

/**
 * Takes the devices from one claim of a pod that fits nowhere, if they keep it from a node or could not be made ready,
 * and nobody else uses them: it gets others with the next try. Where there is no such claim, deletes what an earlier
 * try has made for extended resources. Source: PostFilter.
 */
export async function freeDevices(
  pod: Pod,
  nodes: readonly { readonly node: Node }[],
  claims: DeviceObjects,
  {
    client,
    clock,
    bindingTimeoutMs,
  }: Pick<ComponentContext, "client" | "clock"> & { readonly bindingTimeoutMs: number },
): Promise<void> {
  for (const name of resourceClaimNames(pod)) {
    const claim = claims.claim(pod.metadata.namespace ?? "", name)
    if (claim?.status.allocation === undefined) continue
    const { nodeSelector } = claim.status.allocation
    const isKept = (claim.status.reservedFor ?? []).some(({ uid }) => uid !== pod.metadata.uid)
    const isEverywhere = nodeSelector === undefined || nodes.every(({ node }) => matchesNode(nodeSelector, node))
    if (isKept || (isEverywhere && !hasFailedToBind(claim, clock.now(), bindingTimeoutMs))) continue
    const { allocation: _allocation, reservedFor: _reservedFor, devices: _devices, ...status } = claim.status
    claims.settled(claim, await client.updateStatus(ResourceClaim, { ...claim, status }))
    return
  }
  // A claim for extended resources is made anew for each node.
  const stale = claims.extendedClaimOf(pod)
  if (stale !== undefined) await deleteExtendedClaim(stale, client)
}
