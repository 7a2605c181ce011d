import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { groupOf } from "../../../pkg/pods/pods-by-group.ts"
import { SUCCESS, unresolvable, type ClusterAction, type Plugin } from "../framework.ts"
import type { GroupMembers } from "./group-members.ts"

export const NAME = "GangScheduling"

/** What may help a group that fits nowhere, beside what the plugins that refused its pods wait for. */
const EVENTS: readonly ClusterAction[] = ["PodGroup/Add"]
/** A group that needs a domain waits for nodes with its label too. */
const TOPOLOGY_EVENTS: readonly ClusterAction[] = [...EVENTS, "Node/Add", "Node/UpdateLabel", "AssignedPod/Delete"]

/**
 * Keeps pods of a gang from the queue until the group is there and as many of its pods as it needs. Source:
 * plugins/gangscheduling PreEnqueue.
 */
export const gangScheduling = (
  groupNamed: (key: string) => PodGroup | undefined,
  members: GroupMembers,
  inTopologies: boolean,
): Plugin => ({
  name: NAME,
  eventsToRegister: inTopologies ? TOPOLOGY_EVENTS : EVENTS,
  preEnqueue(pod) {
    const key = groupOf(pod)
    if (key === undefined) return SUCCESS
    const group = groupNamed(key)
    if (group === undefined) return unresolvable(`waiting for pod group ${JSON.stringify(key)} to appear`)
    const { gang } = group.spec.schedulingPolicy
    const count = members.of(key).size
    return gang === undefined || count >= gang.minCount
      ? SUCCESS
      : unresolvable(`waiting for minCount pods of the gang: ${count} of ${gang.minCount} are there`)
  },
})
