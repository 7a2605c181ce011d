/** Which claims of a pod are bound once it has a node, and how they can be bound there. */
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import {
  BIND_COMPLETED,
  isReachedFrom,
  matchingVolume,
  requestedSize,
  SELECTED_NODE,
} from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import type { StorageClass, TopologySelectorTerm } from "../../../pkg/api/storage/v1/storageclass.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import { unresolvable, type Status } from "../framework.ts"
import type { VolumeObjects } from "./volume-objects.ts"

/** How the delayed claims of a pod would be bound on a node. */
export interface VolumePlan {
  /** Existing volumes, each with its claim. */
  readonly bindings: readonly { readonly volume: PersistentVolume; readonly claim: PersistentVolumeClaim }[]
  /** Claims for which a volume is to be provisioned. */
  readonly provisions: readonly PersistentVolumeClaim[]
}

const NOT_PROVISIONED = "kubernetes.io/no-provisioner"

/** Returns the pod's claims that are bound after the pod has a node. */
export function delayedClaims(pod: Pod, objects: VolumeObjects): readonly PersistentVolumeClaim[] {
  const claims = claimsOfPod(pod, objects)
  return "code" in claims ? [] : claims.filter((claim) => !isBound(claim) && waitsForPod(claim, objects))
}

/**
 * Returns how the claims can be bound on the node: the smallest claim first, each to an existing volume or to a
 * provisioned one. Undefined when one cannot be bound. Source: FindPodVolumes.
 */
export function planFor(
  claims: readonly PersistentVolumeClaim[],
  node: Node,
  objects: VolumeObjects,
): VolumePlan | undefined {
  const bindings: { readonly volume: PersistentVolume; readonly claim: PersistentVolumeClaim }[] = []
  const provisions: PersistentVolumeClaim[] = []
  for (const claim of claims.toSorted((a, b) => Number(requestedSize(a) - requestedSize(b)))) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE]
    if (selected !== undefined && selected !== node.metadata.name) return undefined
    const taken = new Set(bindings.map(({ volume }) => volume))
    const volume =
      selected === undefined
        ? matchingVolume(
            claim,
            objects.volumesFor(claim).filter((one) => !taken.has(one) && isReachedFrom(one, node)),
          )
        : undefined
    if (volume !== undefined) bindings.push({ volume, claim })
    else if (isProvisioned(objects.storageClass(claim.spec.storageClassName ?? ""), node)) provisions.push(claim)
    else return undefined
  }
  return { bindings, provisions }
}

/** Whether volumes of the class can be provisioned for the node. Source: checkVolumeProvisions. */
function isProvisioned(storageClass: StorageClass | undefined, node: Node): boolean {
  if (storageClass === undefined) return false
  const { provisioner, allowedTopologies = [] } = storageClass
  return (
    provisioner !== "" &&
    provisioner !== NOT_PROVISIONED &&
    (allowedTopologies.length === 0 || allowedTopologies.some((term) => allows(term, node)))
  )
}

const allows = ({ matchLabelExpressions = [] }: TopologySelectorTerm, { metadata }: Node): boolean =>
  matchLabelExpressions.length > 0 &&
  matchLabelExpressions.every(({ key, values }) => values.includes(metadata.labels?.[key] ?? ""))

/** Returns the claims of the pod, or why it has to wait for one. Source: podHasPVCs. */
export function claimsOfPod(pod: Pod, objects: VolumeObjects): readonly PersistentVolumeClaim[] | Status {
  const claims: PersistentVolumeClaim[] = []
  const { namespace = "", name: podName = "", uid } = pod.metadata
  for (const { name: volume, persistentVolumeClaim, ephemeral } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined && ephemeral === undefined) continue
    const name = persistentVolumeClaim?.claimName ?? ephemeralClaimName(podName, volume)
    const claim = objects.claim(namespace, name)
    if (claim === undefined)
      return unresolvable(
        ephemeral === undefined
          ? `persistentvolumeclaim ${JSON.stringify(name)} not found`
          : `waiting for ephemeral volume controller to create the persistentvolumeclaim ${JSON.stringify(name)}`,
      )
    if (claim.status.phase === "Lost")
      return unresolvable(
        `persistentvolumeclaim ${JSON.stringify(name)} bound to non-existent persistentvolume ` +
          `${JSON.stringify(claim.spec.volumeName ?? "")}`,
      )
    if (claim.metadata.deletionTimestamp !== undefined)
      return unresolvable(`persistentvolumeclaim ${JSON.stringify(name)} is being deleted`)
    if (
      ephemeral !== undefined &&
      claim.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) !== true
    )
      return unresolvable(`PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`)
    claims.push(claim)
  }
  return claims
}

/** Whether claim and volume are bound to each other. Source: isPVCFullyBound. */
export const isBound = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  (spec.volumeName ?? "") !== "" && metadata.annotations?.[BIND_COMPLETED] !== undefined

/** Source: IsDelayBindingMode. A claim that names its volume is not delayed. */
export const waitsForPod = ({ spec }: PersistentVolumeClaim, { storageClass }: VolumeObjects): boolean =>
  (spec.volumeName ?? "") === "" &&
  storageClass(spec.storageClassName ?? "")?.volumeBindingMode === "WaitForFirstConsumer"
