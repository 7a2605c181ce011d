import { matchesTerm } from "../../../pkg/api/core/v1/pod/node-selection.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
import { SKIP, SUCCESS, unresolvable, type Plugin, type Status } from "../framework.ts"

/** Where the plugin finds what pods ask for. */
export interface VolumeObjects {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined
  volume(name: string): PersistentVolume | undefined
  storageClass(name: string): StorageClass | undefined
}

/** What a pod's claims mean for its nodes. */
interface Volumes {
  /** Undefined where a bound volume is missing. */
  readonly bound: readonly (PersistentVolume | undefined)[]
  /** A claim waits for its pod to have a node, and nobody binds it yet. */
  readonly waiting: boolean
}

const NAME = "VolumeBinding"

/**
 * A pod waits until its claims are bound, and then goes where its volumes can be reached. Source:
 * plugins/volumebinding. Differs from upstream: claims of classes that wait for the first consumer are not bound by the
 * scheduler; such a pod waits for who binds them.
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
    state.set(NAME, { bound, waiting: delayed.length > 0 } satisfies Volumes)
    return SUCCESS
  },
  filter(state, _pod, { node }) {
    const { bound, waiting } = state.get(NAME) as Volumes
    if (bound.includes(undefined))
      return unresolvable("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
    if (bound.some((volume) => !isReachedFrom(volume!, node)))
      return unresolvable("node(s) didn't match PersistentVolume's node affinity")
    return waiting ? unresolvable("node(s) didn't find available persistent volumes to bind") : SUCCESS
  },
})

/** Source: podHasPVCs. */
function claimsOf(pod: Pod, objects: VolumeObjects): readonly PersistentVolumeClaim[] | Status {
  const claims: PersistentVolumeClaim[] = []
  const { namespace = "", name: podName = "", uid } = pod.metadata
  for (const { name: volume, persistentVolumeClaim, ephemeral } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined && ephemeral === undefined) continue
    const name = persistentVolumeClaim?.claimName ?? `${podName}-${volume}`
    const claim = objects.claim(namespace, name)
    if (claim === undefined)
      return unresolvable(
        ephemeral === undefined
          ? `persistentvolumeclaim ${JSON.stringify(name)} not found`
          : `waiting for ephemeral volume controller to create the persistentvolumeclaim ${JSON.stringify(name)}`,
      )
    if (claim.status.phase === "Lost")
      return unresolvable(
        `persistentvolumeclaim ${JSON.stringify(name)} bound to non-existent persistentvolume ${JSON.stringify(claim.spec.volumeName ?? "")}`,
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

/** Whether claim and volume have found each other. Source: isPVCFullyBound. */
const isBound = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  (spec.volumeName ?? "") !== "" && metadata.annotations?.["pv.kubernetes.io/bind-completed"] !== undefined

/** Source: IsDelayBindingMode. One whose volume is named already is not chosen for a node. */
const waitsForPod = ({ spec }: PersistentVolumeClaim, { storageClass }: VolumeObjects): boolean =>
  (spec.volumeName ?? "") === "" &&
  storageClass(spec.storageClassName ?? "")?.volumeBindingMode === "WaitForFirstConsumer"

const isReachedFrom = ({ spec: { nodeAffinity } }: PersistentVolume, node: Node): boolean => {
  const terms = nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some((term) => matchesTerm(term, node))
}
