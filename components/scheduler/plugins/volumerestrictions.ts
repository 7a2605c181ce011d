import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { claimNamesOf } from "../../../pkg/pods/pod-claims.ts"
import { SKIP, SUCCESS, unschedulable, type NodeList, type Plugin } from "../framework.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"

const TAKEN = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"

/**
 * Allows one pod in the whole cluster for a claim with the access mode ReadWriteOncePod; a pod of higher priority may
 * preempt the pod that uses the claim. Source: plugins/volumerestrictions, KEP-2485.
 */
export const volumeRestrictions = (objects: VolumeObjects): Plugin => ({
  name: "VolumeRestrictions",
  eventsToRegister: ["AssignedPod/Delete", "Volume/Change", "Pod/Update"],
  // Preemption runs preFilter again for each set of victims.
  looksAtAllNodes: true,
  preFilter(state, pod, nodes) {
    const { namespace = "" } = pod.metadata
    const alone = claimNamesOf(pod).filter(
      (name) => objects.claim(namespace, name)?.spec.accessModes?.includes("ReadWriteOncePod") === true,
    )
    if (alone.length === 0) return SKIP
    state.set("VolumeRestrictions", usersOf(alone, namespace, nodes))
    return SUCCESS
  },
  filter: (state) => ((state.get("VolumeRestrictions") as number) > 0 ? unschedulable(TAKEN) : SUCCESS),
})

/** Counts the pods on nodes that use one of the claims. It searches all pods, because such claims are rare. */
function usersOf(claims: readonly string[], namespace: string, { list }: NodeList): number {
  const uses = (pod: Pod) =>
    pod.metadata.namespace === namespace && claimNamesOf(pod).some((name) => claims.includes(name))
  let users = 0
  for (const { pods } of list) for (const pod of pods.values()) if (uses(pod)) users++
  return users
}
