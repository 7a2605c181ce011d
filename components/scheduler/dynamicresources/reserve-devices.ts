import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { AllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { CLAIM_PROTECTION, consumerOf } from "../../../pkg/pods/resource-claims.ts"
import type { BindingContext } from "../binding-context.ts"
import type { Reservation } from "../framework.ts"
import { holds } from "../holds.ts"
import { hasBindingConditions, isReadyForBinding } from "./binding-conditions.ts"
import type { DeviceObjects } from "./device-objects.ts"
import { createExtendedClaim, deleteExtendedClaim, isShown, tellPod } from "./extended-claim.ts"
import type { ExtendedRequests } from "./extended-resources.ts"

/** A claim of a pod that has its node. */
export interface Reserved {
  readonly claim: ResourceClaim
  /** Undefined where the claim has its devices already. */
  readonly allocation?: AllocationResult | undefined
  /** For the claim that is to be made for extended resources: which container gets the devices of which request. */
  readonly mappings?: ExtendedRequests["mappings"]
}

/**
 * Gives claims their devices, within this turn: for later pods they count at once. `preBind` writes allocations, and
 * who uses the claims, and waits for devices that must be made ready; `unreserve` forgets what was not written, and
 * takes the pod off the claims that it was written to. `claimsOf` returns the claims that the pod names. Source:
 * plugins/dynamicresources Reserve, PreBind, Unreserve.
 */
export function reserveDevices(
  pod: Pod,
  node: Node,
  reserved: readonly Reserved[],
  claimsOf: () => readonly ResourceClaim[],
  claims: DeviceObjects,
  context: BindingContext & { readonly bindingTimeoutMs: number },
): Reservation {
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
    freed: "Device/Change",
    async preBind() {
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
      await devicesReady(pod, node, context, () => [
        ...claimsOf(),
        ...(made === undefined ? [] : [claims.claim(namespace, name) ?? made]),
      ])
    },
    async unreserve() {
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
 * cannot be made ready, or is not in time
 */
async function devicesReady(
  pod: Pod,
  node: Node,
  { clock, events, waits, signal, bindingTimeoutMs }: BindingContext & { readonly bindingTimeoutMs: number },
  claimsOf: () => readonly ResourceClaim[],
): Promise<void> {
  const claims = claimsOf()
  if (!claims.some(hasBindingConditions)) return
  const note = `waiting for binding conditions for device on node ${node.metadata.name}`
  events.event(pod, "Normal", "BindingConditionsPending", { action: "Scheduling", note })
  await holds({
    check: () => claimsOf().every(isReadyForBinding),
    listen: (look) => waits.on(pod, claims, look),
    clock,
    timeoutMs: bindingTimeoutMs,
    late: "device binding timeout",
    signal,
  })
}
