import type { Pod } from "../api/core/v1/pod/pod.ts"
import { isPodTerminal } from "./pod-state.ts"

/** Returns `<namespace>/<name>` of the PodGroup that a pod belongs to; undefined for a pod of none. */
export function groupOf({ metadata, spec: { schedulingGroup } }: Pod): string | undefined {
  const name = schedulingGroup?.podGroupName
  return name === undefined ? undefined : `${metadata.namespace}/${name}`
}

/** An index (see pkg/client/informer.ts) of pods that have not ended, by their PodGroup. */
export const podsByGroup = {
  name: "activePodSchedulingGroup",
  of: (pod: Pod): readonly string[] => {
    const group = isPodTerminal(pod) ? undefined : groupOf(pod)
    return group === undefined ? [] : [group]
  },
}
