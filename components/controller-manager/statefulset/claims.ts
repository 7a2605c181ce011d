import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf, controllerRef } from "../../../pkg/controller/owned.ts"
import { claimName, isInRange, podName } from "./identity.ts"
import { failed } from "./failed.ts"

/**
 * Manages the claims of a StatefulSet's pod. Source:
 * pkg/controller/statefulset/{stateful_pod_control,stateful_set_utils}.go, KEP-1847.
 */

const claimKeys = (set: StatefulSet, ordinal: number): readonly string[] =>
  (set.spec.volumeClaimTemplates ?? []).map(
    ({ metadata }) => `${set.metadata.namespace}/${claimName(set, metadata.name ?? "", ordinal)}`,
  )

const claimsOf = (
  set: StatefulSet,
  ordinal: number,
  { informers }: Pick<ReconcileContext, "informers">,
): readonly PersistentVolumeClaim[] =>
  claimKeys(set, ordinal)
    .map((key) => informers.of(PersistentVolumeClaim).get(key))
    .filter((claim) => claim !== undefined)

export async function createMissingClaims(set: StatefulSet, ordinal: number, context: ReconcileContext): Promise<void> {
  const { client, events, informers } = context
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const name = claimName(set, template.metadata.name ?? "", ordinal)
    const there = informers.of(PersistentVolumeClaim).get(`${set.metadata.namespace}/${name}`)
    if (there?.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`)
    if (there !== undefined) continue
    const told = `create Claim ${name} Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name}`
    const { annotations, labels } = template.metadata
    try {
      await client.create(PersistentVolumeClaim, {
        metadata: {
          name,
          namespace: set.metadata.namespace,
          annotations,
          labels: { ...labels, ...set.spec.selector.matchLabels },
        },
        spec: template.spec,
      })
      events.event(set, "Normal", "SuccessfulCreate", `${told} success`)
    } catch (err) {
      if (isAlreadyExists(err)) continue
      throw failed(set, "FailedCreate", told, err, context)
    }
  }
}

/** Whether a claim still belongs to an earlier pod of this name. It must be deleted before the next pod is created. */
export const hasStaleClaim = (set: StatefulSet, ordinal: number, context: ReconcileContext): boolean =>
  claimsOf(set, ordinal, context).some((claim) =>
    claim.metadata.ownerReferences?.some(({ kind, name }) => kind === "Pod" && name === podName(set, ordinal)),
  )

/**
 * Sets the owner of a pod's claims according to persistentVolumeClaimRetentionPolicy: the set, when claims are deleted
 * with it; the pod, when it is deleted because the set is scaled down. A claim with another controller is left alone.
 */
export async function setClaimOwners(
  set: StatefulSet,
  pod: Pod,
  ordinal: number,
  { client, informers, events }: ReconcileContext,
): Promise<void> {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy
  const goes = !isInRange(ordinal, set)
  const byPod = whenScaled === "Delete" && goes
  const bySet = whenDeleted === "Delete" && !byPod
  for (const claim of claimsOf(set, ordinal, { informers })) {
    const refs = claim.metadata.ownerReferences ?? []
    const isOwner = (owner: KubeObject): boolean => refs.some(({ uid }) => uid === owner.metadata.uid)
    if (isOwner(set) === bySet && isOwner(pod) === byPod) continue
    const others = refs.filter(({ uid }) => uid !== set.metadata.uid && uid !== pod.metadata.uid)
    if ((bySet || byPod) && others.some(({ controller }) => controller === true)) {
      events.event(
        set,
        "Warning",
        "ConflictingController",
        `PersistentVolumeClaim ${claim.metadata.name} has a conflicting OwnerReference that acts as a manging ` +
          `controller, the retention policy is ignored for this claim: ${controllerOf(claim)?.name ?? ""}`,
      )
      continue
    }
    const ownerReferences = [...others, ...(bySet ? [controllerRef(set)] : []), ...(byPod ? [controllerRef(pod)] : [])]
    await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, ownerReferences } })
  }
}
