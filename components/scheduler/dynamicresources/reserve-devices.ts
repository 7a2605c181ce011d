import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { AllocationResult } from "../../pkg/api/resource/v1/allocation.ts"
import { ResourceClaim } from "../../pkg/api/resource/v1/resourceclaim.ts"
import { timestamp } from "../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { CLAIM_PROTECTION, consumerOf, resourceClaimNames } from "../../pkg/pods/resource-claims.ts"
import {
  BINDING_TIMEOUT_MS,
  hasBindingConditions,
  hasFailedToBind,
  isReadyForBinding,
} from "./dynamicresources/binding-conditions.ts"
import { holds } from "./holds.ts"
import type { BindingContext } from "./binding-context.ts"
import { createExtendedClaim, deleteExtendedClaim, isShown, tellPod } from "./bind-extended-claim.ts"
import type { DeviceClaims } from "./dynamicresources/device-objects.ts"
import { matchesNode } from "./dynamicresources/pools.ts"
import type { NodeInfo } from "./node-info.ts"
import type { DynamicResources } from "./plugins/dynamicresources.ts"

/** What is to be written of a pod's claims; for later pods it counts at once. */
export interface DeviceReservation {
  /**
   * Writes allocations, and who uses the claims, and waits for devices that must be made ready. @throws ApiError of a
   * refused write, Error where others were faster or a device is not made ready; what the signal aborted with
   */
  write(): Promise<void>
  /** Forgets what was not written, and takes the pod off the claims that it was written to. */
  release(): Promise<void>
}

/**
 * Gives the pod's claims their devices on the node, within this turn; undefined for a pod without claims. Source:
 * plugins/dynamicresources Reserve, PreBind, Unreserve. @throws Error where they cannot have them any more
 */
export function reserveDevices(
  pod: Pod,
  node: NodeInfo,
  plugin: DynamicResources,
  claims: DeviceClaims,
  context: BindingContext,
): DeviceReservation | undefined {
  const reserved = plugin.reservedOn(pod, node)
  if (reserved === undefined) return undefined
  const { client, clock } = context
  claims.assume(
    reserved.flatMap(({ claim, allocation }) =>
      allocation === undefined ? [] : [{ ...claim, status: { ...claim.status, allocation } }],
    ),
  )
  const written: ResourceClaim[] = []
  /** The claim that was made for extended resources. */
  let made: ResourceClaim | undefined

  async function writeOne(claim: ResourceClaim, allocation: AllocationResult | undefined): Promise<ResourceClaim> {
    const { finalizers = [] } = claim.metadata
    const current =
      allocation === undefined || finalizers.includes(CLAIM_PROTECTION)
        ? claim
        : await client.update(ResourceClaim, {
            ...claim,
            metadata: { ...claim.metadata, finalizers: [...finalizers, CLAIM_PROTECTION] },
          })
    const before = allocation ?? current.status.allocation
    return client.updateStatus(ResourceClaim, {
      ...current,
      status: {
        ...current.status,
        allocation: before && { allocationTimestamp: timestamp(clock), ...before },
        reservedFor: [...(current.status.reservedFor ?? []), consumerOf(pod)],
      },
    })
  }

  return {
    async write() {
      for (const { claim, allocation, mappings } of reserved)
        if (mappings === undefined) {
          const done = await writeOne(claim, allocation)
          written.push(done)
          claims.settled(claim, done)
        } else {
          made = await createExtendedClaim(claim, client)
          made = await writeOne(made, allocation)
          await tellPod(pod, made, mappings, client)
          await isShown(pod, made, claims, context)
          claims.settled(claim, made)
        }
      const { namespace = "", name = "" } = made?.metadata ?? {}
      await devicesReady(pod, node.node, context, () => [
        ...plugin.claimsOf(pod),
        ...(made === undefined ? [] : [claims.claim(namespace, name) ?? made]),
      ])
    },
    async release() {
      for (const { claim } of reserved.slice(written.length)) claims.settled(claim, undefined)
      for (const claim of written) {
        const { namespace, name, uid } = claim.metadata
        await client.patch(
          ResourceClaim,
          { namespace, name },
          {
            type: "strategic",
            body: { metadata: { uid }, status: { reservedFor: [{ $patch: "delete", uid: pod.metadata.uid }] } },
          },
          { subresource: "status" },
        )
      }
      if (made !== undefined) await deleteExtendedClaim(made, client)
    },
  }
}

/**
 * Waits until the drivers have made the pod's devices ready for the node. Source: PreBind. @throws Error when one
 * cannot be made ready, or is not within ten minutes
 */
async function devicesReady(
  pod: Pod,
  node: Node,
  { clock, events, waits, signal }: BindingContext,
  claimsOf: () => readonly ResourceClaim[],
): Promise<void> {
  const claims = claimsOf()
  if (!claims.some(hasBindingConditions)) return
  events.event(
    pod,
    "Normal",
    "BindingConditionsPending",
    `waiting for binding conditions for device on node ${node.metadata.name}`,
  )
  await holds({
    check: () => claimsOf().every(isReadyForBinding),
    listen: (look) => waits.on(pod, claims, look),
    clock,
    timeoutMs: BINDING_TIMEOUT_MS,
    late: "device binding timeout",
    signal,
  })
}

/**
 * Takes the devices from one claim of a pod that fits nowhere, if they keep it from a node or could not be made ready,
 * and nobody else uses them: it gets others with the next try. Where there is no such claim, deletes what an earlier
 * try has made for extended resources. Source: PostFilter.
 */
export async function freeDevices(
  pod: Pod,
  nodes: readonly { readonly node: Node }[],
  claims: DeviceClaims,
  { client, clock }: Pick<ComponentContext, "client" | "clock">,
): Promise<void> {
  for (const name of resourceClaimNames(pod)) {
    const claim = claims.claim(pod.metadata.namespace ?? "", name)
    if (claim?.status.allocation === undefined) continue
    const { nodeSelector } = claim.status.allocation
    const isKept = (claim.status.reservedFor ?? []).some(({ uid }) => uid !== pod.metadata.uid)
    const isEverywhere = nodeSelector === undefined || nodes.every(({ node }) => matchesNode(nodeSelector, node))
    if (isKept || (isEverywhere && !hasFailedToBind(claim, clock.now()))) continue
    const { allocation: _allocation, reservedFor: _reservedFor, devices: _devices, ...status } = claim.status
    claims.settled(claim, await client.updateStatus(ResourceClaim, { ...claim, status }))
    return
  }
  // A claim for extended resources is made anew for each node.
  const stale = claims.extendedClaimOf(pod)
  if (stale !== undefined) await deleteExtendedClaim(stale, client)
}
