import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { CLAIM_PROTECTION, needsNoDevices, allResourceClaimNames } from "../../../pkg/pods/resource-claims.ts"

type Consumer = NonNullable<ResourceClaim["status"]["reservedFor"]>[number]

/**
 * Takes pods that are gone or done off the claims that were reserved for them; a claim that nobody uses any more gives
 * its devices back, and goes where it was made for such a pod. Source: pkg/controller/resourceclaim syncClaim.
 */
export const claimReservations = defineController<ResourceClaim>({
  name: "resourceclaim-reservations",
  reconciles: ResourceClaim,
  watches: [
    {
      resource: Pod,
      keys: (object, _context, _old, deleted) => {
        const pod = object as Pod
        return deleted || needsNoDevices(pod)
          ? allResourceClaimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`)
          : []
      },
    },
  ],
  async reconcile(key, context) {
    const claim = context.informers.of(ResourceClaim).get(key)
    if (claim === undefined) return
    const { reservedFor = [] } = claim.status
    const remaining: Consumer[] = []
    for (const consumer of reservedFor) if (await mayUse(consumer, claim, context)) remaining.push(consumer)
    const isProtected = claim.metadata.finalizers?.includes(CLAIM_PROTECTION) === true
    if (remaining.length < reservedFor.length) await release(claim, remaining, isProtected, context)
    else if (isProtected && claim.metadata.deletionTimestamp !== undefined && remaining.length === 0)
      await release(claim, [], true, context)
    if (remaining.length === 0) await removeUnneeded(claim, context)
  },
})

/** Whoever is no pod is kept: nothing is known of its kind. */
async function mayUse(
  { apiGroup = "", resource, name, uid }: Consumer,
  { metadata: { namespace } }: ResourceClaim,
  { client, informers }: ReconcileContext,
): Promise<boolean> {
  if (apiGroup !== "" || resource !== "pods") return true
  const shown = informers.of(Pod).get(`${namespace}/${name}`)
  if (shown !== undefined) return shown.metadata.uid === uid && !needsNoDevices(shown)
  // The informer of pods may be behind that of claims.
  try {
    return (await client.get(Pod, { namespace, name })).metadata.uid === uid
  } catch (err) {
    if (isNotFound(err)) return false
    throw err
  }
}

/** Without users the devices are given back, and nothing keeps the claim any more. */
async function release(
  claim: ResourceClaim,
  remaining: readonly Consumer[],
  isProtected: boolean,
  { client }: ReconcileContext,
): Promise<void> {
  const { allocation, reservedFor: _users, ...status } = claim.status
  const isFree = remaining.length === 0 && isProtected
  const users = remaining.length === 0 ? {} : { reservedFor: remaining }
  const kept = isFree || allocation === undefined ? {} : { allocation }
  const written = await client.updateStatus(ResourceClaim, { ...claim, status: { ...status, ...kept, ...users } })
  if (!isProtected || written.status.allocation !== undefined) return
  const finalizers = (written.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLAIM_PROTECTION)
  await client.update(ResourceClaim, { ...written, metadata: { ...written.metadata, finalizers } })
}

/** A claim that was made for a pod goes with its last run; the garbage collector takes those of pods that are gone. */
async function removeUnneeded(claim: ResourceClaim, { client, informers }: ReconcileContext): Promise<void> {
  const owner = controllerOf(claim)
  if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return
  const pod = informers.of(Pod).get(`${claim.metadata.namespace}/${owner.name}`)
  if (pod === undefined || (pod.metadata.uid === owner.uid && !needsNoDevices(pod))) return
  await client.delete(ResourceClaim, claim.metadata).catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
}
