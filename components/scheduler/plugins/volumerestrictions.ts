import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { claimNamesOf } from "../../../pkg/pods/pod-claims.ts"
import { SKIP, SUCCESS, unschedulable, type NodeList, type Plugin } from "../framework.ts"
import type { VolumeObjects } from "./volumebinding.ts"

const TAKEN = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"

/**
 * A claim with the access mode ReadWriteOncePod is for one pod in the whole cluster; a more important pod may take it
 * away. Source: plugins/volumerestrictions, KEP-2485.
 */
export const volumeRestrictions = (objects: VolumeObjects): Plugin => ({
  name: "VolumeRestrictions",
  eventsToRegister: ["AssignedPod/Delete", "Volume/Change", "Pod/Update"],
  // Preemption tries it again without each set of victims.
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

/** How many pods on nodes use one of the claims. Looked for among all pods, since such claims are rare. */
function usersOf(claims: readonly string[], namespace: string, { list }: NodeList): number {
  const uses = (pod: Pod) =>
    pod.metadata.namespace === namespace && claimNamesOf(pod).some((name) => claims.includes(name))
  let users = 0
  for (const { pods } of list) for (const pod of pods.values()) if (uses(pod)) users++
  return users
}
