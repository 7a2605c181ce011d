import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { claimsOf } from "./claims.ts"
import { isInRange, podName } from "./identity.ts"

/**
 * The owners of a StatefulSet's claims, by persistentVolumeClaimRetentionPolicy (KEP-1847): the set, when claims are
 * deleted with it; the pod, when they are deleted because the set is scaled down. Source: isClaimOwnerUpToDate,
 * updateClaimOwnerRefForSetAndPod and what they call in pkg/controller/statefulset/stateful_set_utils.go.
 */

type References = readonly OwnerReference[]

/** Whether a claim still belongs to an earlier pod of this name, and is deleted with it. The next pod waits for that. */
export const hasStaleClaim = (set: StatefulSet, ordinal: number, context: ReconcileContext): boolean =>
  set.spec.persistentVolumeClaimRetentionPolicy.whenScaled !== "Retain" &&
  claimsOf(set, ordinal, context).some(({ metadata }) =>
    metadata.ownerReferences?.some((ref) => names(ref, ownerPod(set, ordinal, undefined))),
  )

/**
 * Brings the owners of a pod's claims in line with the policy; `pod` is undefined while it does not exist. Claims with
 * references to an earlier set or pod of the same name are left alone, and those with another controller lose their
 * references to the set and the pod. When all are right, an Event about another controller is written only if `always`.
 */
export async function setClaimOwners(
  set: StatefulSet,
  pod: Pod | undefined,
  ordinal: number,
  { client, informers, events }: ReconcileContext,
  always = false,
): Promise<void> {
  const owners: Owners = { set: ownerSet(set), pod: ownerPod(set, ordinal, pod), wanted: wantedOwners(set, ordinal) }
  const claims = claimsOf(set, ordinal, { informers })
  if (!always && claims.every((claim) => isRight(refsOf(claim), owners))) return
  for (const claim of claims) {
    const refs = refsOf(claim)
    if (hasOtherController(refs, owners))
      events.event(
        set,
        "Warning",
        "ConflictingController",
        `PersistentVolumeClaim ${claim.metadata.name} has a conflicting OwnerReference that acts as a manging ` +
          "controller, the retention policy is ignored for this claim",
      )
    if (isRight(refs, owners)) continue
    const metadata = { ...claim.metadata, ownerReferences: corrected(refs, owners) }
    await client.update(PersistentVolumeClaim, { ...claim, metadata })
  }
}

const refsOf = ({ metadata }: PersistentVolumeClaim): References => metadata.ownerReferences ?? []

/** An owner as its references name it; the UID of a pod that does not exist is empty. */
type Owner = Pick<OwnerReference, "apiVersion" | "kind" | "name" | "uid">

interface Owners {
  readonly set: Owner
  readonly pod: Owner
  readonly wanted: Wanted
}

/** Which references the policy asks for. Undefined when it retains claims always. */
type Wanted = { readonly set: boolean; readonly pod: boolean } | undefined

const ownerSet = ({ metadata: { name = "", uid = "" } }: StatefulSet): Owner => ({
  apiVersion: StatefulSet.apiVersion,
  kind: StatefulSet.kind,
  name,
  uid,
})
const ownerPod = (set: StatefulSet, ordinal: number, pod: Pod | undefined): Owner => ({
  apiVersion: Pod.apiVersion,
  kind: Pod.kind,
  name: podName(set, ordinal),
  uid: pod?.metadata.uid ?? "",
})

function wantedOwners(set: StatefulSet, ordinal: number): Wanted {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy
  if (whenDeleted === "Retain" && whenScaled === "Retain") return undefined
  const pod = whenScaled === "Delete" && !isInRange(ordinal, set)
  return { set: whenDeleted === "Delete" && !pod, pod }
}

const names = (ref: OwnerReference, owner: Owner): boolean =>
  ref.apiVersion === owner.apiVersion && ref.kind === owner.kind && ref.name === owner.name

const isStale = (refs: References, owner: Owner): boolean => {
  const first = refs.find((ref) => names(ref, owner))
  return first !== undefined && first.uid !== owner.uid
}

const has = (refs: References, { uid }: Owner): boolean => refs.some((ref) => ref.uid === uid)

/** Whether another object controls the claim, or an earlier set or pod of the same name owns it. */
const hasOtherController = (refs: References, { set, pod, wanted }: Owners): boolean =>
  wanted !== undefined &&
  refs.some((ref) => {
    const own = [set, pod].find((owner) => names(ref, owner))
    return own === undefined ? ref.controller === true : ref.uid !== own.uid
  })

function isRight(refs: References, owners: Owners): boolean {
  const { set, pod, wanted } = owners
  if (isStale(refs, set) || isStale(refs, pod)) return true
  if (hasOtherController(refs, owners)) return !has(refs, set) && !has(refs, pod)
  if (refs.some(({ uid, controller }) => (uid === set.uid || uid === pod.uid) && controller !== true)) return false
  return has(refs, set) === (wanted?.set ?? false) && has(refs, pod) === (wanted?.pod ?? false)
}

/** Returns the references without those to the set and the pod, and with those that the policy asks for. */
function corrected(refs: References, owners: Owners): References {
  const { set, pod, wanted } = owners
  const others = refs.filter((ref) => !names(ref, set) && !names(ref, pod))
  if (hasOtherController(refs, owners)) return others
  const added = [...(wanted?.set === true ? [set] : []), ...(wanted?.pod === true ? [pod] : [])]
  return [
    ...others,
    ...added
      .filter((owner) => !has(others, owner))
      .map((owner) => ({ ...owner, controller: true, blockOwnerDeletion: true })),
  ]
}
