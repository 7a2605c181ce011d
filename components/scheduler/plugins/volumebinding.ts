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
import type { CSINode } from "../../../pkg/api/storage/v1/csinode.ts"
import type { StorageClass, TopologySelectorTerm } from "../../../pkg/api/storage/v1/storageclass.ts"
import type { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import { SKIP, SUCCESS, unresolvable, type Plugin, type Status } from "../framework.ts"

/** The objects that the plugin reads. */
export interface VolumeObjects {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined
  volume(name: string): PersistentVolume | undefined
  /** Volumes that the claim may get: those that name it, and those of its class that name none. */
  volumesFor(claim: PersistentVolumeClaim): readonly PersistentVolume[]
  storageClass(name: string): StorageClass | undefined
  csiNode(nodeName: string): CSINode | undefined
  /** Returns the VolumeAttachments of a node, attached or not. */
  attachments(nodeName: string): readonly VolumeAttachment[]
}

/** The claims of a pod, by what they mean for its nodes. */
interface Volumes {
  /** Undefined where a bound volume does not exist. */
  readonly bound: readonly (PersistentVolume | undefined)[]
  /** Claims that are bound after their pod has a node. */
  readonly delayed: readonly PersistentVolumeClaim[]
}

/** How the delayed claims of a pod would be bound on a node. */
export interface VolumePlan {
  /** Existing volumes, each with its claim. */
  readonly bindings: readonly { readonly volume: PersistentVolume; readonly claim: PersistentVolumeClaim }[]
  /** Claims for which a volume is to be provisioned. */
  readonly provisions: readonly PersistentVolumeClaim[]
}

const NAME = "VolumeBinding"
const NOT_PROVISIONED = "kubernetes.io/no-provisioner"
const CANNOT_BIND = "node(s) didn't find available persistent volumes to bind"

/**
 * Keeps a pod waiting until its claims are bound, and filters out nodes from which its volumes cannot be reached.
 * Claims of classes with `WaitForFirstConsumer` are bound when the pod has its node (bind-volumes.ts). Source:
 * plugins/volumebinding. Differs from upstream: CSIStorageCapacity objects are not read.
 */
export const volumeBinding = (objects: VolumeObjects): Plugin => ({
  name: NAME,
  eventsToRegister: ["Volume/Change", "Node/Add", "Node/UpdateLabel", "Pod/Update"],
  preFilter(state, pod) {
    const claims = claimsOf(pod, objects)
    if ("code" in claims) return claims
    if (claims.length === 0) return SKIP
    const unbound = claims.filter((claim) => !isBound(claim))
    const delayed = unbound.filter((claim) => waitsForPod(claim, objects))
    if (delayed.length < unbound.length) return unresolvable("pod has unbound immediate PersistentVolumeClaims")
    const bound = claims.filter(isBound).map(({ spec }) => objects.volume(spec.volumeName ?? ""))
    state.set(NAME, { bound, delayed } satisfies Volumes)
    return SUCCESS
  },
  filter(state, _pod, { node }) {
    const { bound, delayed } = state.get(NAME) as Volumes
    if (bound.includes(undefined))
      return unresolvable("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
    if (bound.some((volume) => !isReachedFrom(volume!, node)))
      return unresolvable("node(s) didn't match PersistentVolume's node affinity")
    return planFor(delayed, node, objects) === undefined ? unresolvable(CANNOT_BIND) : SUCCESS
  },
})

/** Returns the pod's claims that are bound after the pod has a node. */
export function delayedClaims(pod: Pod, objects: VolumeObjects): readonly PersistentVolumeClaim[] {
  const claims = claimsOf(pod, objects)
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

/** Source: podHasPVCs. */
function claimsOf(pod: Pod, objects: VolumeObjects): readonly PersistentVolumeClaim[] | Status {
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
const waitsForPod = ({ spec }: PersistentVolumeClaim, { storageClass }: VolumeObjects): boolean =>
  (spec.volumeName ?? "") === "" &&
  storageClass(spec.storageClassName ?? "")?.volumeBindingMode === "WaitForFirstConsumer"
