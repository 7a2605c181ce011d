import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { isReachedFrom } from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import type { VolumeBindingArgs } from "../config/plugin-args.ts"
import { SKIP, SUCCESS, unresolvable, type Plugin } from "../framework.ts"
import { bindVolumes } from "../volumebinding/bind-volumes.ts"
import { claimsOfPod, delayedClaims, isBound, planFor, waitsForPod } from "../volumebinding/volume-plan.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"

/** The claims of a pod, by what they mean for its nodes. */
interface Volumes {
  /** Undefined where a bound volume does not exist. */
  readonly bound: readonly (PersistentVolume | undefined)[]
  /** Claims that are bound after their pod has a node. */
  readonly delayed: readonly PersistentVolumeClaim[]
}

const NAME = "VolumeBinding"
const CANNOT_BIND = "node(s) didn't find available persistent volumes to bind"

/**
 * Keeps a pod waiting until its claims are bound, and filters out nodes from which its volumes cannot be reached.
 * Claims of classes with `WaitForFirstConsumer` are bound when the pod has its node (bind-volumes.ts). Source:
 * plugins/volumebinding. Differs from upstream: CSIStorageCapacity objects are not read.
 */
export const volumeBinding = (objects: VolumeObjects, { bindTimeoutSeconds }: VolumeBindingArgs): Plugin => ({
  name: NAME,
  eventsToRegister: ["Volume/Change", "Node/Add", "Node/UpdateLabel", "Pod/Update"],
  preFilter(state, pod) {
    const claims = claimsOfPod(pod, objects)
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
  reserve(pod, { name }, context) {
    const delayed = delayedClaims(pod, objects)
    return delayed.length === 0
      ? undefined
      : { preBind: () => bindVolumes(pod, name, delayed, objects, { ...context, timeoutSeconds: bindTimeoutSeconds }) }
  },
})
