import type { GroupFeatures } from "../pod-groups.ts"
import type { Profile } from "../profile.ts"
import { NAME } from "./gang-scheduling.ts"

/** Which plugins of groups run in a profile. */
export interface GroupPlugins {
  /** Whether pods of a gang stay out of the queue until there are enough: GangScheduling's preEnqueue. */
  readonly gates: boolean
  /** Whether a gang gets its nodes together or not at all: GangScheduling's permit. */
  readonly permits: boolean
  /** Whether groups are placed in domains of a topology: the gate, and TopologyPlacementGenerator. */
  readonly generates: boolean
  /** Weight of the number of pods that a placement has room for: PodGroupPodsCount; 0 where that does not run. */
  readonly countWeight: number
}

/** Returns the plugins of groups that run in a profile: those that its configuration enables, or those of the gates. */
export function groupPluginsOf({ configured }: Pick<Profile, "configured">, features: GroupFeatures): GroupPlugins {
  const { GangScheduling: gangs, TopologyAwareWorkloadScheduling: topologies } = features
  if (configured === undefined)
    return { gates: gangs, permits: gangs, generates: topologies, countWeight: topologies ? 1 : 0 }
  const { enabled, weights } = configured
  return {
    gates: enabled.preEnqueue.includes(NAME),
    permits: enabled.permit.includes(NAME),
    generates: topologies && enabled.placementGenerate.includes("TopologyPlacementGenerator"),
    countWeight: enabled.placementScore.includes(COUNT) ? (weights.get(COUNT) ?? 1) : 0,
  }
}

const COUNT = "PodGroupPodsCount"
